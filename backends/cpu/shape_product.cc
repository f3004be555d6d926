// The form of a product: its micro-tile, what is copied, and what stays in which cache.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/product.h"

namespace weft::cpu {

using tile::Value;

namespace {

// A product of no more rows than this does not pay for copying rhs.
constexpr int64_t kInPlaceRows = 48;
// One of so few has a micro-tile of its own.
constexpr int kFewRows = 24;
// Rows of rhs that are read side by side where lhs has no more than kStreamedRows.
constexpr int kStreams = 8;
constexpr int64_t kInPlaceBlock = 512;
constexpr int64_t kInnerBlock = 4096;
// A micro-tile so many times as wide as it is high reads little of lhs, and much of rhs.
constexpr int kWide = 8;

// A micro-tile of many rows, for the number of columns that there are. Sums, a vector of each
// column and one of lhs lie in registers. With 32 registers four vectors across need the fewest
// loads for a multiplication; fewer where that many columns would not be used.
struct MicroShape {
  int rows, vectors;
};
MicroShape micro_shape(int registers, std::optional<int64_t> columns, int lanes) {
  if (registers < 32) return {6, 2};
  constexpr MicroShape kShapes[] = {{6, 4}, {12, 2}, {12, 1}};
  MicroShape best = kShapes[0];
  auto computed = [&](const MicroShape& shape) {
    const int64_t width = int64_t{shape.vectors} * lanes;
    return (*columns + width - 1) / width * width;
  };
  for (const MicroShape& shape : kShapes) {
    // One that saves less than an eighth of the work is not worth its loads.
    if (columns && computed(shape) * 8 < computed(best) * 7) best = shape;
  }
  return best;
}

}  // namespace

// Chooses the micro-tile and what is copied.
void KernelEmitter::shape_product(Product& product) {
  const Dim height = product.m == tile::kNone ? Dim(1) : program_.axes[product.m].dim;
  const auto [full, across] =
      micro_shape(target_.vector_registers, axes_[product.n].extent, product.lanes);
  product.rows = full;
  product.vectors = across;
  product.k_block = block_of_k(product);

  const bool rhs_plain = is_plain_load(product.rhs);
  const bool unit_n = rhs_plain && step_along(product.rhs, product.n).is_constant(1);
  if (unit_n) product.in_place = ir_.CreateICmpSLE(dim(height), i64(kInPlaceRows));
  if (height.is_constant() && height.constant() <= kFewRows) {
    product.few = true;
    const auto few = static_cast<int>(std::max<int64_t>(1, height.constant()));
    product.rows = rows_for(few, full);
    auto unit_k = [&](ValueId id) {
      return is_plain_load(id) && step_along(id, product.k).is_constant(1);
    };
    product.inner = is_float(product.memory) && unit_k(product.lhs) && unit_k(product.rhs);
    if (product.inner) {
      product.rows = std::min(product.rows, 4);
      const bool wide = target_.vector_registers >= 32;
      product.vectors = product.rows == 1 ? 8 : product.rows == 2 ? (wide ? 8 : 4) : (wide ? 6 : 2);
      product.k_block = kInnerBlock;
    } else if (unit_n) {
      product.k_block = kInPlaceBlock;
      if (product.rows <= kStreamedRows) {
        product.vectors = 4;
        product.k_block = kStreams;
      }
      product.prefetch_rhs = product.rows > kStreamedRows;
    }
  }
  if (product.m != tile::kNone && axes_[product.m].extent) {
    product.rows = static_cast<int>(std::min<int64_t>(product.rows, *axes_[product.m].extent));
  }
  product.laid_out = panel_columns(product);
  product.keeps_rows = can_keep_rows(product);
  if (product.keeps_rows || product.laid_out > 0) product.k_block = block_of_k(product);
}

// Where lhs is read in place, as it lies along k; or is copied anyway, as it lies along m, and k is
// longer than the block that a panel would have. Panels that come from memory, not from a copy just
// made, are better read once for all rows.
bool KernelEmitter::can_keep_rows(const Product& product) const {
  if (product.m == tile::kNone || product.few || product.laid_out > 0) return false;
  if (product.columns() < kWide * product.rows || !is_plain_load(product.lhs)) return false;
  if (step_along(product.lhs, product.k).is_constant(1)) return true;
  const Dim depth = most_coordinates(product.k);
  const bool one_block = depth.is_constant() && depth.constant() <= product.k_block;
  return step_along(product.lhs, product.m).is_constant(1) && !one_block;
}

// The columns of the panels that rhs lies in, if it is a load %w[n / C, k, mod(n, C)] and the
// micro-tile reads whole vectors of one panel; else 0.
int64_t KernelEmitter::panel_columns(const Product& product) const {
  using Term = tile::Index::Term;
  const Value& value = program_.values[product.rhs];
  if (value.kind != Value::load || value.where != tile::kNone || options_.bounds_checks) return 0;
  const std::vector<tile::Index>& at = value.ref.at;
  if (value.dtype != product.memory || slots_.contains(product.rhs) || at.size() != 3) return 0;
  const tile::Index n = tile::axis_index(product.n);
  auto divided = [&](const tile::Index& index, Term::Kind kind) -> int64_t {
    if (index.terms.size() != 1 || !index.offset.is_constant(0)) return 0;
    const Term& term = index.terms[0];
    const bool is = term.kind == kind && term.scale.is_constant(1) && term.inner[0] == n;
    return is && term.divisor.is_constant() ? term.divisor.constant() : 0;
  };
  const int64_t columns = divided(at[0], Term::floor_div);
  if (columns == 0 || divided(at[2], Term::mod) != columns) return 0;
  const std::vector<Dim> packed = {program_.axes[product.k].dim * Dim(columns), columns, 1};
  if (at[1] != tile::axis_index(product.k)) return 0;
  if (program_.buffers[value.ref.buffer].strides != packed) return 0;
  const std::optional<int64_t> extent = axes_[product.n].extent;
  const bool whole = !program_.size_of(program_.axes[product.n].extent).has_value();
  const bool begins = whole || (extent && *extent % product.columns() == 0);
  return begins && columns % product.columns() == 0 ? columns : 0;
}

// So much of k that what is read again stays in the cache where it should. A panel's block is as
// large as the first one: it is read in order, so that the second one keeps up, and longer blocks
// load and store the sums less often, which no cache near the core holds. Or the rows take a
// quarter of the first, and the panels of a tile half of the second. A panel in memory comes into
// the second cache anyway: it takes a quarter of it, and the rows half of the first.
int64_t KernelEmitter::block_of_k(const Product& product) const {
  const int64_t bytes = byte_size(product.memory);
  if (product.laid_out > 0) {
    const int64_t rows = target_.l1_bytes / 2 / bytes / product.rows;
    const int64_t panel = target_.l2_bytes / 4 / bytes / product.columns();
    return even_block(product, std::max<int64_t>(64, std::min(rows, panel) / 32 * 32));
  }
  if (!product.keeps_rows) {
    const int64_t panel = target_.l1_bytes / bytes / product.columns();
    return std::max<int64_t>(64, panel / 32 * 32);
  }
  const int64_t width = std::max<int64_t>(product.columns(), axes_[product.n].extent.value_or(0));
  const int64_t rows = target_.l1_bytes / 4 / bytes / product.rows;
  const int64_t panels = target_.l2_bytes / 2 / bytes / width;
  return std::max<int64_t>(64, std::min(rows, panels) / 32 * 32);
}

// The blocks of at most that size, about equally long if k is known.
int64_t KernelEmitter::even_block(const Product& product, int64_t most) const {
  const Dim depth = most_coordinates(product.k);
  if (!depth.is_constant() || depth.constant() <= 0) return most;
  const int64_t blocks = (depth.constant() + most - 1) / most;
  return ((depth.constant() + blocks - 1) / blocks + 31) / 32 * 32;
}

// Rows of a micro-tile for a product of few: those that leave the fewest unused, among the numbers
// that keep the multipliers busy.
int KernelEmitter::rows_for(int few, int full) {
  int best = full;
  auto computed = [&](int rows) { return (few + rows - 1) / rows * rows; };
  for (int rows = full; rows >= std::max(1, full * 2 / 3); --rows) {
    if (computed(rows) < computed(best)) best = rows;
  }
  return std::min(best, few);
}

}  // namespace weft::cpu
