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

// Runs `body` unless it was run last, by this thread in this launch, for the same tiles of these
// axes: programs that differ only in m share a packed rhs.
void KernelEmitter::unless_packed(const std::set<AxisId>& coordinates,
                                  const std::function<void()>& body) {
  std::vector<llvm::Value*> wanted = {env_word(offsetof(KernelEnv, launch))};
  for (AxisId axis : coordinates) wanted.push_back(axes_[axis].base);
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
  Dim width = round_up(most_coordinates(product.n), product.columns());
  product.panels = new_scratch(width * depth, product.memory, "panels");
  unless_packed(coordinates_of(product.rhs), [&] {
    for (ValueId id : product.rhs_randoms) fill_random(id, random_axis(id));
    const AxisState& n = axes_[product.n];
    llvm::Value* rest = ir_.CreateSRem(n.size, i64(product.columns()));
    llvm::Value* whole = ir_.CreateAdd(n.base, ir_.CreateSub(n.size, rest));
    if (product.in_place == nullptr) {
      pack_whole_panels(product, whole);
    } else {
      if_then(ir_.CreateNot(product.in_place), [&] { pack_whole_panels(product, whole); });
    }
    if_then(ir_.CreateICmpSGT(rest, i64(0)),
            [&] { apart([&] { pack_last_panel(product, whole, rest); }); });
  });
}

// The panels up to column `end`. Neighbours along n are read as they lie, row after row; else one
// panel is made after the other.
void KernelEmitter::pack_whole_panels(const Product& product, llvm::Value* end) {
  auto panels = [&](const std::function<void(llvm::Value*)>& body) {
    loop(axes_[product.n].base, end, i64(product.columns()), "panel",
         [&](llvm::Value* first) { apart([&] { body(first); }); });
  };
  auto rows = [&](llvm::Value* from, llvm::Value* to, int64_t step,
                  const std::function<void(llvm::Value*)>& body) {
    loop(from, to, i64(step), "pack", [&](llvm::Value* k) { apart([&] { body(k); }); });
  };
  if (neighbours_along(product.rhs, product.n, product.k)) {
    rows(i64(0), product.depth, 1, [&](llvm::Value* k) {
      prefetch_row(product, k, end);
      panels([&](llvm::Value* first) { pack_panel_row(product, first, k); });
    });
    return;
  }
  const int64_t step = turns_rhs(product) ? product.lanes : 1;
  panels([&](llvm::Value* first) {
    llvm::Value* rest = ir_.CreateSub(product.depth, ir_.CreateURem(product.depth, i64(step)));
    if (step > 1) {
      rows(i64(0), rest, step, [&](llvm::Value* k) { pack_turned(product, first, k); });
    }
    rows(step > 1 ? rest : i64(0), product.depth, 1,
         [&](llvm::Value* k) { pack_panel_row(product, first, k); });
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

// Asks for a row of rhs that will be copied a little later: the next row is often in another page,
// where no prefetcher follows.
void KernelEmitter::prefetch_row(const Product& product, llvm::Value* k, llvm::Value* end) {
  constexpr int64_t kAhead = 8;
  if (!is_plain_load(product.rhs)) return;
  llvm::Value* base = axes_[product.n].base;
  llvm::Value* from = plain_address(product, product.rhs, product.n, base, k);
  llvm::Value* later = dim(step_along(product.rhs, product.k) * Dim(kAhead));
  const int64_t line = 64 / byte_size(product.memory);
  loop(i64(0), ir_.CreateSub(end, base), i64(line), "prefetch", [&](llvm::Value* column) {
    llvm::Value* at = ir_.CreateAdd(later, column);
    prefetch(ir_.CreateGEP(memory_type(product.memory), from, at), /*nearest=*/true);
  });
}

void KernelEmitter::pack_panel_row(const Product& product, llvm::Value* first, llvm::Value* k) {
  at_level(product.k, ir_.CreateAdd(product.k_base, k), 1, [&] {
    for (int v = 0; v < product.vectors; ++v) {
      llvm::Value* column = i64(v * product.lanes);
      at_level(product.n, ir_.CreateAdd(first, column), product.lanes,
               [&] { put_in_panel(product, eval_lanes(product.rhs), first, k, column); });
    }
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

}  // namespace weft::cpu
