// Values of a Tile program at the current point of a loop nest.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Value;

// The innermost level that a value with these axes changes with.
size_t KernelEmitter::level_of(const std::vector<AxisId>& axes) const {
  size_t level = 0;
  for (size_t i = 1; i < levels_.size(); ++i) {
    if (std::ranges::find(axes, levels_[i].axis) != axes.end()) level = i;
  }
  return level;
}

void KernelEmitter::find_checked_values() {
  checked_.resize(program_.values.size());
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    const Value& value = program_.values[id];
    checked_[id] = value.limit.has_value();
    for (const tile::Index& at : value.ref.at) {
      tile::for_each_term(at, [&](const tile::Index::Term& term) {
        if (term.kind == tile::Index::Term::value) checked_[id] = true;
      });
    }
    if (value.kind == Value::reduce || value.kind == Value::dot) continue;  // in a nest of its own
    tile::for_each_use(value, [&](ValueId used) { checked_[id] = checked_[id] || checked_[used]; });
  }
}

bool KernelEmitter::may_be_empty(AxisId axis) const {
  const Dim& size = program_.axes[axis].dim;
  return !axes_[axis].nonempty && !(size.is_constant() && size.constant() > 0);
}

llvm::Value* KernelEmitter::eval(ValueId id) {
  if (held_.contains(id)) return ir_.getTrue();
  const Value& value = program_.values[id];
  size_t at = level_of(value.axes);
  // What this program also writes is read where it stands, before anything is stored.
  bool movable =
      value.kind != Value::load || program_.buffers[value.ref.buffer].mode == tile::Buffer::in;
  if (!movable) at = levels_.size() - 1;
  // An index that nothing is read with is not looked at: not before a loop that may be empty.
  for (size_t i = at + 1; i < levels_.size() && checked_[id]; ++i) {
    if (may_be_empty(levels_[i].axis)) at = i;
  }
  auto known = levels_[at].known.find(id);
  if (known != levels_[at].known.end()) return known->second;

  // Code of an outer level goes before the loop that is inside it, if there is one.
  bool outer = levels_[at].before != nullptr;
  IR::InsertPoint here = ir_.saveIP();
  if (outer) ir_.SetInsertPoint(levels_[at].before);
  auto slot = slots_.find(id);
  llvm::Value* result =
      slot != slots_.end() ? load_slot(slot->second, value.dtype) : compute(value);
  levels_[at].known.emplace(id, result);
  if (outer) {
    // A check on the way may have split the block and taken the place into its second half.
    const bool at_end = here.getPoint() == here.getBlock()->end();
    if (at_end) {
      ir_.restoreIP(here);
    } else {
      ir_.SetInsertPoint(&*here.getPoint());
    }
  }
  return result;
}

llvm::Value* KernelEmitter::compute(const Value& value) {
  switch (value.kind) {
    case Value::constant: return number(value.dtype, value.number, value.integer);
    case Value::coord: {
      Lane at = index(value.index);
      if (value.limit) check_index(at, *value.limit, nullptr, "index out of range");
      return convert(spread(at), DType::i64, value.dtype);
    }
    case Value::load: return load(value);
    case Value::map: {
      std::vector<llvm::Value*> operands;
      bool many = false;
      for (ValueId operand : value.operands) {
        operands.push_back(eval(operand));
        many |= operands.back()->getType()->isVectorTy();
      }
      if (many) {
        for (llvm::Value*& operand : operands) operand = splat(operand, lanes_);
      }
      DType from = program_.values[value.operands.back()].dtype;
      return emit_map(value.op, operands, from, value.dtype);
    }
    case Value::reduce:  // over axes of one coordinate; others have a slot
      return value.reduction == tile::Reduce::argmax
                 ? convert(axes_[value.axes_reduced[0]].base, DType::i64, value.dtype)
                 : eval(value.operands[0]);
    case Value::random: return random_word(value);
    default: WEFT_CHECK(false, "a value that should have a slot");
  }
}

KernelEmitter::Lane KernelEmitter::slot_offset(const Slot& slot) {
  Lane sum{.first = i64(0)};
  for (size_t i = 0; i < slot.axes.size(); ++i) {
    Lane local{.first = ir_.CreateSub(coordinate(slot.axes[i]), slot.bases[i], "", false, true)};
    if (slot.axes[i] == lane_axis_ && lanes_ > 1) local.step = 1;
    sum = add(sum, scale(local, slot.strides[i]));
  }
  return sum;
}

namespace {

// Kept values are not rounded.
DType slot_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

}  // namespace

llvm::Value* KernelEmitter::load_slot(const Slot& slot, DType dtype) {
  if (slot.axes.empty()) {
    return ir_.CreateLoad(register_type(dtype), slot.address);
  }
  return load_at(slot_dtype(dtype), slot.address, slot_offset(slot));
}

void KernelEmitter::store_slot(const Slot& slot, DType dtype, llvm::Value* value) {
  if (slot.axes.empty()) {
    ir_.CreateStore(value, slot.address);
    return;
  }
  store_at(slot_dtype(dtype), slot.address, slot_offset(slot), value, nullptr);
}

}  // namespace weft::cpu
