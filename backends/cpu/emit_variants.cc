// A loop's body twice: for tiles where a comparison of coordinates holds everywhere, without it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Stmt;
using tile::Value;

// The largest (or smallest) number of an index over the tiles that are open; null if unknown.
llvm::Value* KernelEmitter::extreme(const tile::Index& index, bool largest) {
  llvm::Value* sum = dim(index.offset);
  for (const tile::Index::Term& term : index.terms) {
    if (!term.scale.is_constant() || term.axis_id == tile::kNone) return nullptr;
    const AxisState& axis = axes_[term.axis_id];
    llvm::Value* at = axis.base;
    switch (term.kind) {
      case tile::Index::Term::base: break;
      case tile::Index::Term::end: at = ir_.CreateAdd(axis.base, axis.size); break;
      case tile::Index::Term::axis: {
        if (axis.single || largest != (term.scale.constant() > 0)) break;
        at = ir_.CreateAdd(axis.base, ir_.CreateSub(axis.size, i64(1)));
        break;
      }
      default: return nullptr;
    }
    sum = ir_.CreateAdd(sum, ir_.CreateMul(at, i64(term.scale.constant())));
  }
  return sum;
}

llvm::Value* KernelEmitter::extreme(ValueId id, bool largest) {
  const Value& value = program_.values[id];
  if (value.kind == Value::coord && !value.limit) return extreme(value.index, largest);
  const bool plain = value.kind == Value::load || value.kind == Value::constant;
  if (!plain || !walked(value.axes).empty() || !is_integer(value.dtype)) return nullptr;
  return ir_.CreateIntCast(eval(id), ir_.getInt64Ty(), is_signed_integer(value.dtype));
}

// Whether a predicate holds for every element of the tiles that are open; null if unknown.
llvm::Value* KernelEmitter::holds_everywhere(ValueId id) {
  const Value& value = program_.values[id];
  if (value.kind != Value::map) return nullptr;
  if (value.op == Op::logical_and) {
    llvm::Value* a = holds_everywhere(value.operands[0]);
    llvm::Value* b = a == nullptr ? nullptr : holds_everywhere(value.operands[1]);
    return b == nullptr ? nullptr : ir_.CreateAnd(a, b);
  }
  if (value.op != Op::le && value.op != Op::lt) return nullptr;
  llvm::Value* left = extreme(value.operands[0], true);
  llvm::Value* right = left == nullptr ? nullptr : extreme(value.operands[1], false);
  if (right == nullptr) return nullptr;
  return value.op == Op::le ? ir_.CreateICmpSLE(left, right) : ir_.CreateICmpSLT(left, right);
}

// Predicates of selects that the values of a block are computed by.
std::set<tile::ValueId> KernelEmitter::masks_of(const Stmt& loop) const {
  std::set<ValueId> masks, seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == tile::kNone || slots_.contains(id) || !seen.insert(id).second) return;
    const Value& value = program_.values[id];
    const bool choice = value.kind == Value::map && value.op == Op::select;
    if (choice && !walked(program_.values[value.operands[0]].axes).empty()) {
      masks.insert(value.operands[0]);
    }
    tile::for_each_use(value, visit);
  };
  for (ValueId id : loop.yields) visit(id);
  for (const Stmt& stmt : loop.body) {
    if (stmt.kind != Stmt::let) tile::for_each_use(stmt, visit);
  }
  return masks;
}

// Only loops with products of tiles: other bodies are no slower with a comparison in them.
void KernelEmitter::for_each_variant(const Stmt& loop, const std::function<void()>& body) {
  const bool plain =
      std::ranges::all_of(loop.body, [](const Stmt& stmt) { return stmt.body.empty(); });
  llvm::Value* everywhere = nullptr;
  std::set<ValueId> held;
  if (plain && !tile_dots_.empty()) {
    for (ValueId mask : masks_of(loop)) {
      llvm::Value* holds = holds_everywhere(mask);
      if (holds == nullptr) continue;
      held.insert(mask);
      everywhere = everywhere == nullptr ? holds : ir_.CreateAnd(everywhere, holds);
    }
  }
  if (everywhere == nullptr) return body();
  const std::set<ValueId> prepared = prepared_;
  const std::map<ValueId, Slot> slots = slots_;
  const Dim used = scratch_bytes_;
  Dim most = used;
  auto variant = [&] {
    levels_.assign(1, {});
    prepared_ = prepared;
    slots_ = slots;
    scratch_bytes_ = used;
    body();
    most = Dim::max(most, scratch_bytes_);
  };
  auto* with = llvm::BasicBlock::Create(context_, "masked", function_);
  auto* after = llvm::BasicBlock::Create(context_, "tile.end", function_);
  auto* without = llvm::BasicBlock::Create(context_, "whole", function_);
  ir_.CreateCondBr(everywhere, without, with);
  ir_.SetInsertPoint(without);
  held_ = held;
  variant();
  held_.clear();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(with);
  variant();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  scratch_bytes_ = most;
}

}  // namespace weft::cpu
