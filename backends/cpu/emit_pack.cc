// Operands of a product copied to the order in which they are read.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "backends/cpu/product.h"
#include "runtime/cpu/kernel_abi.h"

namespace weft::cpu {

using tile::Value;

// All axes whose coordinates a value depends on, those of one coordinate a tile included.
std::set<tile::AxisId> KernelEmitter::coordinates_of(ValueId id) const {
  std::set<AxisId> axes;
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId at) {
    if (at == tile::kNone || !seen.insert(at).second) return;
    const Value& value = program_.values[at];
    axes.insert(value.axes.begin(), value.axes.end());
    for (ValueId operand : value.operands) visit(operand);
    visit(value.where);
    auto look = [&](const tile::Index& index) {
      tile::for_each_term(index, [&](const tile::Index::Term& term) {
        if (term.axis_id != tile::kNone) axes.insert(term.axis_id);
        visit(term.value_id);
      });
    };
    look(value.index);
    for (const tile::Index& index : value.ref.at) look(index);
  };
  visit(id);
  return axes;
}

// Runs `body` unless the tile that this thread packed last, in this launch, is the one wanted:
// programs that differ only in m share a packed rhs.
void KernelEmitter::unless_packed(const Product& product, const std::function<void()>& body) {
  std::vector<llvm::Value*> wanted = {env_word(offsetof(KernelEnv, launch))};
  for (AxisId axis : coordinates_of(product.rhs)) wanted.push_back(axes_[axis].base);
  std::vector<llvm::Value*> words;
  for (size_t i = 0; i < wanted.size(); ++i) words.push_back(new_kept_word());
  llvm::Value* stale = ir_.getFalse();
  for (size_t i = 0; i < wanted.size(); ++i) {
    llvm::Value* known = ir_.CreateLoad(ir_.getInt64Ty(), words[i]);
    stale = ir_.CreateOr(stale, ir_.CreateICmpNE(known, wanted[i]));
  }
  if_then(stale, [&] {
    for (size_t i = 0; i < wanted.size(); ++i) ir_.CreateStore(wanted[i], words[i]);
    apart(body);
  });
}

llvm::Value* KernelEmitter::env_word(size_t offset) {
  return ir_.CreateLoad(ir_.getInt64Ty(),
                        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), env_, offset));
}

// A number that is still there in the next call of the launch, or if there are too many of them,
// for the next program of this call; not that of any launch or a coordinate in the beginning.
llvm::Value* KernelEmitter::new_kept_word() {
  if (kept_words_ == kKeptWords) return new_register(ir_.getInt64Ty(), "packed", i64(-1));
  const auto at = static_cast<int64_t>(sizeof(int64_t)) * kept_words_++;
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), env_,
                                        offsetof(KernelEnv, kept) + static_cast<size_t>(at));
}

void KernelEmitter::pack_rhs(Product& product, const Dim& depth) {
  const int columns = product.columns();
  Dim width = round_up(most_coordinates(product.n), columns);
  product.panels = new_scratch(width * depth, product.memory, "panels");
  unless_packed(product, [&] {
    for (ValueId id : product.rhs_randoms) fill_random(id, random_axis(id));
    const AxisState& n = axes_[product.n];
    llvm::Value* end = ir_.CreateAdd(n.base, n.size);
    loop(n.base, end, i64(columns), "panel", [&](llvm::Value* first) {
      llvm::Value* have = min64(i64(columns), ir_.CreateSub(end, first));
      llvm::Value* whole = ir_.CreateICmpEQ(have, i64(columns));
      llvm::Value* copied = whole;
      if (product.in_place != nullptr) {
        copied = ir_.CreateAnd(whole, ir_.CreateNot(product.in_place));
      }
      if_then(copied, [&] { apart([&] { pack_whole_panel(product, first); }); });
      if_then(ir_.CreateNot(whole), [&] { apart([&] { pack_last_panel(product, first, have); }); });
    });
  });
}

// Stores element (k, column) of the panel whose first column is `first`.
void KernelEmitter::put_in_panel(const Product& product, llvm::Value* value, llvm::Value* first,
                                 llvm::Value* k, llvm::Value* column) {
  llvm::Value* panel = ir_.CreateMul(ir_.CreateSub(first, axes_[product.n].base), product.depth);
  llvm::Value* row = ir_.CreateMul(k, i64(product.columns()));
  llvm::Value* at = ir_.CreateAdd(ir_.CreateAdd(panel, row), column);
  ir_.CreateAlignedStore(narrow(value, product.memory),
                         element_address(product.panels, at, product.memory),
                         alignment(product.memory));
}

void KernelEmitter::pack_whole_panel(const Product& product, llvm::Value* first) {
  loop(i64(0), product.depth, i64(1), "pack", [&](llvm::Value* k) {
    at_level(product.k, ir_.CreateAdd(product.k_base, k), 1, [&] {
      for (int v = 0; v < product.vectors; ++v) {
        llvm::Value* column = i64(v * product.lanes);
        at_level(product.n, ir_.CreateAdd(first, column), product.lanes,
                 [&] { put_in_panel(product, eval_lanes(product.rhs), first, k, column); });
      }
    });
  });
}

void KernelEmitter::pack_last_panel(const Product& product, llvm::Value* first, llvm::Value* have) {
  loop(i64(0), product.depth, i64(1), "pack", [&](llvm::Value* k) {
    at_level(product.k, ir_.CreateAdd(product.k_base, k), 1, [&] {
      loop(i64(0), have, i64(1), "column", [&](llvm::Value* column) {
        at_level(product.n, ir_.CreateAdd(first, column), 1,
                 [&] { put_in_panel(product, eval(product.rhs), first, k, column); });
      });
      loop(have, i64(product.columns()), i64(1), "zero", [&](llvm::Value* column) {
        put_in_panel(product, llvm::Constant::getNullValue(product.type), first, k, column);
      });
    });
  });
}

// A lhs whose neighbours lie along m goes to [m / rows][k][rows], since in place each k is in
// another page. One with neighbours along k is copied too where enough columns share the copy: its
// rows may lie so that they drive each other out of the cache.
void KernelEmitter::pack_lhs(Product& product, const Dim& depth) {
  const AxisId m = product.m;
  const bool plain = is_plain_load(product.lhs);
  const Dim height = round_up(most_coordinates(m), product.rows);
  const bool along_m = m != tile::kNone && neighbours_along(product.lhs, m, product.k);
  if (plain && !along_m && !pays_near_copy(product)) return;
  if (!along_m && product.rows > kStreamedRows) {
    product.near_lhs = new_scratch(height * Dim(product.near_step()), product.memory, "near");
    return;  // copied block by block
  }
  product.packed_lhs = new_scratch(height * depth, product.memory, "rows");
  apart([&] {
    if (m == tile::kNone) {
      pack_row(product, i64(0));
      return;
    }
    const AxisState& state = axes_[m];
    llvm::Value* done = i64(0);
    if (along_m) {
      done = ir_.CreateSub(state.size, ir_.CreateSRem(state.size, i64(product.rows)));
      loop(i64(0), done, i64(product.rows), "rows",
           [&](llvm::Value* first) { apart([&] { pack_rows(product, first); }); });
    }
    loop(done, state.size, i64(1), "row", [&](llvm::Value* local) {
      at_level(m, ir_.CreateAdd(state.base, local), 1, [&] { pack_row(product, local); });
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
  if (product.rows <= kStreamedRows || product.few) return false;
  const std::optional<int64_t> columns = axes_[product.n].extent;
  return !columns || *columns >= kPanels * product.columns();
}

// Rows of lhs for one block of k; those beyond the last repeat it.
void KernelEmitter::copy_near(const Product& product, llvm::Value* begin, llvm::Value* end) {
  const AxisState& state = axes_[product.m];
  llvm::Value* rows = i64(product.rows);
  llvm::Value* tiles = ir_.CreateSDiv(ir_.CreateAdd(state.size, i64(product.rows - 1)), rows);
  const int lanes = product.lanes;
  llvm::Value* count = ir_.CreateSub(end, begin);
  llvm::Value* stop = ir_.CreateSub(count, ir_.CreateSRem(count, i64(lanes)));
  llvm::Value* first_k = ir_.CreateAdd(product.k_base, begin);
  loop(i64(0), ir_.CreateMul(tiles, rows), i64(1), "near", [&](llvm::Value* local) {
    llvm::Value* start = ir_.CreateMul(local, i64(product.near_step()));
    auto copy = [&](llvm::Value* from, llvm::Value* to, int step) {
      loop(from, to, i64(step), "copy", [&](llvm::Value* k) {
        at_level(product.k, ir_.CreateAdd(first_k, k), step, [&] {
          ir_.CreateAlignedStore(
              narrow(eval_lanes(product.lhs), product.memory),
              element_address(product.near_lhs, ir_.CreateAdd(start, k), product.memory),
              alignment(product.memory));
        });
      });
    };
    at_level(product.m, clamped(product.m, local), 1, [&] {
      copy(i64(0), stop, lanes);
      copy(stop, count, 1);
    });
  });
}

// The rows of a micro-tile from `first` on, one k after the other.
void KernelEmitter::pack_rows(const Product& product, llvm::Value* first) {
  llvm::Value* start = ir_.CreateMul(first, product.depth);
  llvm::Value* row = ir_.CreateAdd(axes_[product.m].base, first);
  loop(i64(0), product.depth, i64(1), "pack", [&](llvm::Value* k) {
    at_level(product.k, ir_.CreateAdd(product.k_base, k), 1, [&] {
      at_level(product.m, row, product.rows, [&] {
        llvm::Value* at = ir_.CreateAdd(start, ir_.CreateMul(k, i64(product.rows)));
        ir_.CreateAlignedStore(narrow(eval_lanes(product.lhs), product.memory),
                               element_address(product.packed_lhs, at, product.memory),
                               alignment(product.memory));
      });
    });
  });
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
