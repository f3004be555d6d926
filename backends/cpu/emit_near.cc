// The left operand of a product, copied to where its rows lie next to each other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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
    product.near_size = Dim::floor_div(height, rows) * Dim(product.near_step);
    if (stays_near(product)) return keep_near(product, depth);
    product.near_lhs = new_scratch(product.near_size, product.memory, "near");
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

// True if copies of lhs are worth keeping for the tiles of n that follow: it is read across pages,
// and with two tiles each thread may have one. What a program computes before, or writes, is not
// known to be the same in another; and only tiles of the grid are told apart by where they begin.
bool KernelEmitter::stays_near(const Product& product) const {
  if (!product.near_along_m || !axes_[product.m].extent || !axes_[product.n].extent) return false;
  const Dim& width = program_.axes[product.n].dim;
  if (width.is_constant() && width.constant() <= 2 * *axes_[product.n].extent) return false;
  if (axes_[product.m].program == nullptr || program_.axes[product.m].inner) return false;
  std::set<ValueId> seen;
  std::function<bool(ValueId)> is_read = [&](ValueId id) {
    if (id == tile::kNone || !seen.insert(id).second) return true;
    const tile::Value& value = program_.values[id];
    const bool known = value.kind == tile::Value::constant || value.kind == tile::Value::map ||
                       value.kind == tile::Value::coord || value.kind == tile::Value::load;
    bool all = known && is_read(value.where) && std::ranges::all_of(value.operands, is_read);
    if (value.kind == tile::Value::load) {
      all = all && program_.buffers[value.ref.buffer].mode == tile::Buffer::in;
    }
    auto look = [&](const tile::Index& index) {
      tile::for_each_term(
          index, [&](const tile::Index::Term& term) { all = all && is_read(term.value_id); });
    };
    look(value.index);
    std::ranges::for_each(value.ref.at, look);
    return all;
  };
  return is_read(product.lhs);
}

// Makes room for the copies of all tiles of m, as far as they are near at all, and forgets those of
// another launch or batch.
void KernelEmitter::keep_near(Product& product, const Dim& depth) {
  constexpr int64_t kMostBytes = 8 << 20;
  const int64_t height = *axes_[product.m].extent;
  const Dim tiles = Dim::floor_div(program_.axes[product.m].dim + Dim(height - 1), height);
  const Dim blocks = Dim::floor_div(depth + Dim(product.k_block - 1), product.k_block);
  const Dim all = Dim::max(tiles * blocks, 1);  // a sum of nothing has one, of nothing
  const int64_t bytes = product.near_size.constant() * byte_size(product.memory);
  const Dim count = Dim::min(all, std::max<int64_t>(1, kMostBytes / bytes));
  product.near_lhs = new_scratch(count * product.near_size, product.memory, "near");
  product.near_notes = new_scratch(count, DType::i64, "notes");
  product.near_count = dim(count);
  std::set<AxisId> others = coordinates_of(product.lhs);
  others.erase(product.m);
  unless_packed(others, [&] {
    loop(i64(0), product.near_count, i64(1), "forget", [&](llvm::Value* at) {
      ir_.CreateStore(i64(-1), element_address(product.near_notes, at, DType::i64));
    });
  });
}

// Of the copies that stay: the number of this program's rows and the block of k.
llvm::Value* KernelEmitter::near_number(const Product& product, llvm::Value* begin) {
  llvm::Value* tile = ir_.CreateUDiv(axes_[product.m].base, i64(*axes_[product.m].extent));
  llvm::Value* block = i64(product.k_block);
  llvm::Value* blocks =
      ir_.CreateUDiv(ir_.CreateAdd(product.depth, i64(product.k_block - 1)), block);
  return ir_.CreateAdd(ir_.CreateMul(tile, blocks), ir_.CreateUDiv(begin, block));
}

// Where the copy of this number is, until another one of the same place comes.
llvm::Value* KernelEmitter::near_place(const Product& product, llvm::Value* number) {
  return ir_.CreateURem(number, product.near_count);
}

// Where the copy for a block of k is.
llvm::Value* KernelEmitter::near_block(const Product& product, llvm::Value* begin) {
  if (product.near_count == nullptr) return product.near_lhs;
  llvm::Value* place = near_place(product, near_number(product, begin));
  llvm::Value* start = ir_.CreateMul(place, dim(product.near_size));
  return element_address(product.near_lhs, start, product.memory);
}

void KernelEmitter::make_near(const Product& product, llvm::Value* begin, llvm::Value* end) {
  if (product.near_count == nullptr) return copy_near(product, begin, end);
  llvm::Value* number = near_number(product, begin);
  llvm::Value* place = near_place(product, number);
  llvm::Value* note = element_address(product.near_notes, place, DType::i64);
  llvm::Value* known = ir_.CreateLoad(ir_.getInt64Ty(), note);
  if_then(ir_.CreateICmpNE(known, number), [&] {
    ir_.CreateStore(number, note);
    apart([&] { copy_near(product, begin, end); });
  });
}

// The rows of lhs for one block of k; those beyond the last, up to a whole micro-tile, repeat it.
void KernelEmitter::copy_near(const Product& product, llvm::Value* begin, llvm::Value* end) {
  llvm::Value* near = near_block(product, begin);
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
          at_row(row, lanes, [&] { put_near(product, near, ir_.CreateSDiv(row, rows), at); });
        });
      });
    });
    return;
  }
  loop(i64(0), height, i64(1), "near", [&](llvm::Value* row) {
    at_row(row, 1, [&] {
      along(count, whole(count, product.lanes), product.lanes, [&](llvm::Value* k, int lanes) {
        at_k(k, lanes, [&] { put_near(product, near, row, k); });
      });
    });
  });
}

// Stores the lanes of lhs at an element of a line of its copy.
void KernelEmitter::put_near(const Product& product, llvm::Value* near, llvm::Value* line,
                             llvm::Value* at) {
  at = ir_.CreateAdd(ir_.CreateMul(line, i64(product.near_step)), at);
  ir_.CreateAlignedStore(narrow(eval_lanes(product.lhs), product.memory),
                         element_address(near, at, product.memory), alignment(product.memory));
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
  if (!step_k.is_constant(1)) return;
  const int64_t panels = std::max<int64_t>(1, *width / product.columns());
  llvm::Value* panel = ir_.CreateSDiv(column, i64(product.columns()));
  llvm::Value* next_rows =
      ir_.CreateSub(dim(step_along(product.lhs, product.m) * Dim(*height)), begin);
  llvm::Value* ahead =
      ir_.CreateSelect(ir_.CreateICmpSLT(end, product.depth), i64(product.k_block), next_rows);
  // Not in bounds: at the end nothing follows, which a prefetch does not mind.
  auto ask = [&](llvm::Value* from, llvm::Value* offset) {
    prefetch(ir_.CreateGEP(memory_type(product.memory), from, ir_.CreateAdd(ahead, offset)),
             /*nearest=*/false);
  };
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
