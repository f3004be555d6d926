// The left operand of a product, copied to where its rows lie next to each other.
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/product.h"

namespace weft::cpu {

// A lhs with neighbours along m is in another page at each k. One with neighbours along k is copied
// where enough columns share the copy: its rows may lie so that they drive each other out of the
// cache. The few rows that stay there while panels pass have room wherever they lie.
void KernelEmitter::pack_lhs(Product& product, const Dim& depth) {
  const AxisId m = product.m;
  const bool plain = is_plain_load(product.lhs);
  product.near_along_m = m != tile::kNone && neighbours_along(product.lhs, m, product.k);
  if (plain && !product.near_along_m && !pays_near_copy(product)) return;
  const Dim height = round_up(most_coordinates(m), product.rows);
  if (product.rows > kStreamedRows) {
    const int64_t rows = product.near_along_m ? product.rows : 1;  // of a line
    product.near_step = product.k_block * rows + Product::kNearGap;
    const Dim lines = Dim::floor_div(height, rows);
    product.near_lhs = new_scratch(lines * Dim(product.near_step), product.memory, "near");
    return;  // copied block by block
  }
  product.packed_lhs = new_scratch(height * depth, product.memory, "rows");
  apart([&] {
    if (m == tile::kNone) {
      pack_row(product, i64(0));
      return;
    }
    loop(i64(0), axes_[m].size, i64(1), "row", [&](llvm::Value* local) {
      llvm::Value* row = ir_.CreateAdd(axes_[m].base, local);
      at_level(m, row, 1, [&] { pack_row(product, local); });
    });
  });
}

// True if vectors of the value along `axis` are cheaper to make than along `other`.
bool KernelEmitter::neighbours_along(ValueId id, AxisId axis, AxisId other) const {
  std::set<ValueId> seen_axis;
  std::set<ValueId> seen_other;
  return lane_score(id, axis, seen_axis) > lane_score(id, other, seen_other);
}

bool KernelEmitter::pays_near_copy(const Product& product) const {
  constexpr int64_t kPanels = 4;
  if (product.rows <= kStreamedRows || product.few || product.keeps_rows) return false;
  const std::optional<int64_t> columns = axes_[product.n].extent;
  return !columns || *columns >= kPanels * product.columns();
}

// The rows of lhs for one block of k; those beyond the last, up to a whole micro-tile, repeat it.
void KernelEmitter::copy_near(const Product& product, llvm::Value* begin, llvm::Value* end) {
  llvm::Value* size = axes_[product.m].size;
  llvm::Value* rows = i64(product.rows);
  llvm::Value* tiles = ir_.CreateSDiv(ir_.CreateAdd(size, i64(product.rows - 1)), rows);
  llvm::Value* height = ir_.CreateMul(tiles, rows);
  llvm::Value* count = ir_.CreateSub(end, begin);
  llvm::Value* first_k = ir_.CreateAdd(product.k_base, begin);
  auto at_k = [&](llvm::Value* local, int lanes, const std::function<void()>& body) {
    at_level(product.k, ir_.CreateAdd(first_k, local), lanes, body);
  };
  auto at_row = [&](llvm::Value* local, int lanes, const std::function<void()>& body) {
    at_level(product.m, clamped(product.m, local), lanes, body);
  };
  // In vectors up to `whole`, then single elements.
  auto along = [&](llvm::Value* stop, llvm::Value* whole, int lanes,
                   const std::function<void(llvm::Value*, int)>& body) {
    loop(i64(0), whole, i64(lanes), "copy", [&](llvm::Value* at) { body(at, lanes); });
    loop(whole, stop, i64(1), "copy", [&](llvm::Value* at) { body(at, 1); });
  };
  auto whole = [&](llvm::Value* all, int lanes) {
    return ir_.CreateSub(all, ir_.CreateSRem(all, i64(lanes)));
  };
  if (product.near_along_m) {
    loop(i64(0), count, i64(1), "near", [&](llvm::Value* k) {
      at_k(k, 1, [&] {
        llvm::Value* start = ir_.CreateMul(k, rows);
        along(height, whole(size, product.rows), product.rows, [&](llvm::Value* row, int lanes) {
          llvm::Value* at = ir_.CreateAdd(start, ir_.CreateSRem(row, rows));
          at_row(row, lanes, [&] { put_near(product, ir_.CreateSDiv(row, rows), at); });
        });
      });
    });
    return;
  }
  loop(i64(0), height, i64(1), "near", [&](llvm::Value* row) {
    at_row(row, 1, [&] {
      along(count, whole(count, product.lanes), product.lanes,
            [&](llvm::Value* k, int lanes) { at_k(k, lanes, [&] { put_near(product, row, k); }); });
    });
  });
}

// Stores the lanes of lhs at an element of a line of its copy.
void KernelEmitter::put_near(const Product& product, llvm::Value* line, llvm::Value* at) {
  at = ir_.CreateAdd(ir_.CreateMul(line, i64(product.near_step)), at);
  ir_.CreateAlignedStore(narrow(eval_lanes(product.lhs), product.memory),
                         element_address(product.near_lhs, at, product.memory),
                         alignment(product.memory));
}

// While a block of lhs is multiplied, the next one to be copied comes nearer: the same rows further
// along k, or those of the next program. Each micro-tile asks for a share of it. Not if it lies
// along m: its copy has many lines under way by itself, and such products were faster without.
void KernelEmitter::prefetch_near(const Product& product, llvm::Value* row, llvm::Value* column,
                                  llvm::Value* begin, llvm::Value* end) {
  if (product.near_lhs == nullptr || product.near_along_m || !is_plain_load(product.lhs)) return;
  const std::optional<int64_t> height = axes_[product.m].extent;
  const std::optional<int64_t> width = axes_[product.n].extent;
  if (!height || !width) return;
  const Dim step_k = step_along(product.lhs, product.k);
  const int64_t panels = std::max<int64_t>(1, *width / product.columns());
  llvm::Value* panel = ir_.CreateSDiv(column, i64(product.columns()));
  llvm::Value* next_rows = ir_.CreateSub(dim(step_along(product.lhs, product.m) * Dim(*height)),
                                         ir_.CreateMul(begin, dim(step_k)));
  llvm::Value* ahead = ir_.CreateSelect(ir_.CreateICmpSLT(end, product.depth),
                                        dim(step_k * Dim(product.k_block)), next_rows);
  // Not in bounds: at the end nothing follows, which a prefetch does not mind.
  auto ask = [&](llvm::Value* from, llvm::Value* offset) {
    prefetch(ir_.CreateGEP(memory_type(product.memory), from, ir_.CreateAdd(ahead, offset)),
             /*nearest=*/false);
  };
  if (!step_k.is_constant(1)) return;
  const int64_t line = 64 / byte_size(product.memory);
  const int64_t share = (product.k_block / line + panels - 1) / panels * line;  // of a row
  llvm::Value* first = ir_.CreateMul(panel, i64(share));
  for (int i = 0; i < product.rows; ++i) {
    llvm::Value* at = clamped(product.m, ir_.CreateAdd(row, i64(i)));
    llvm::Value* from = plain_address(product, product.lhs, product.m, at, begin);
    for (int64_t j = 0; j < share; j += line) ask(from, ir_.CreateAdd(first, i64(j)));
  }
}

// One row, in vectors along k.
void KernelEmitter::pack_row(const Product& product, llvm::Value* local) {
  llvm::Value* block = ir_.CreateSDiv(local, i64(product.rows));
  llvm::Value* row = ir_.CreateSRem(local, i64(product.rows));
  llvm::Value* start = ir_.CreateMul(ir_.CreateMul(block, product.depth), i64(product.rows));
  start = ir_.CreateAdd(start, row);
  auto put = [&](llvm::Value* value, llvm::Value* k) {
    llvm::Value* at = ir_.CreateAdd(start, ir_.CreateMul(k, i64(product.rows)));
    ir_.CreateAlignedStore(narrow(value, product.memory),
                           element_address(product.packed_lhs, at, product.memory),
                           alignment(product.memory));
  };
  const int lanes = product.lanes;
  llvm::Value* rest = ir_.CreateSRem(product.depth, i64(lanes));
  llvm::Value* stop = ir_.CreateSub(product.depth, rest);
  loop(i64(0), stop, i64(lanes), "pack", [&](llvm::Value* k) {
    at_level(product.k, ir_.CreateAdd(product.k_base, k), lanes, [&] {
      llvm::Value* all = eval_lanes(product.lhs);
      for (int i = 0; i < lanes; ++i) {
        llvm::Value* one =
            lanes == 1 ? all : ir_.CreateExtractElement(all, static_cast<uint64_t>(i));
        put(one, ir_.CreateAdd(k, i64(i)));
      }
    });
  });
  loop(stop, product.depth, i64(1), "pack.rest", [&](llvm::Value* k) {
    at_level(product.k, ir_.CreateAdd(product.k_base, k), 1, [&] { put(eval(product.lhs), k); });
  });
}

}  // namespace weft::cpu
