// Statements: which values are computed before they are used, and in which loop nest.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Block;
using tile::Stmt;
using tile::Value;

bool KernelEmitter::is_reduced(ValueId id) const {
  const Value& value = program_.values[id];
  if (value.kind == Value::dot) return true;
  return value.kind == Value::reduce && !walked(value.axes_reduced).empty();
}

// Puts in the way everything that has to be computed by a nest of its own before `id` is.
void KernelEmitter::prepare(ValueId id) {
  if (id == tile::kNone || slots_.contains(id) || !prepared_.insert(id).second) return;
  const Value& value = program_.values[id];
  for (ValueId operand : value.operands) prepare(operand);
  prepare(value.where);
  prepare_ref(value.ref);
  tile::for_each_term(value.index, [&](const tile::Index::Term& term) { prepare(term.value_id); });
  const AxisId along = value.kind == Value::random ? random_axis(id) : tile::kNone;
  if (along != tile::kNone) {
    if (late_randoms_ != nullptr) {
      late_randoms_->push_back(id);
    } else {
      fill_random(id, along);
    }
  } else if (tile_dots_.contains(id)) {
    emit_tile_dot(id);
  } else if (is_reduced(id)) {
    Sink sink{.kind = Sink::reduce, .value = id};
    std::vector<AxisId> axes = value.axes;
    axes.insert(axes.end(), value.axes_reduced.begin(), value.axes_reduced.end());
    sink.axes = walked(axes);
    sink.reduced = walked(value.axes_reduced);
    push(std::move(sink));
  } else if (kept_.contains(id)) {
    push(keep_sink(id, std::nullopt));
  }
}

void KernelEmitter::prepare_ref(const tile::Ref& ref) {
  for (const tile::Index& at : ref.at) {
    tile::for_each_term(at, [&](const tile::Index::Term& term) { prepare(term.value_id); });
  }
}

void KernelEmitter::prepare_statement(const Stmt& stmt) {
  if (stmt.kind == Stmt::let) {
    pack_once(stmt.value);
    if (is_reduced(stmt.value) || kept_.contains(stmt.value)) prepare(stmt.value);
    return;
  }
  prepare(stmt.value);
  prepare(stmt.where);
  prepare_ref(stmt.ref);
}

Slot KernelEmitter::make_slot(DType dtype, const std::vector<AxisId>& axes,
                              const std::string& name) {
  const bool wide = is_float(dtype) && byte_size(dtype) == 2;  // kept values are not rounded
  const DType kept = wide ? DType::f32 : dtype;
  if (tile_lanes_.contains(axes)) return padded_slot(kept, with_lanes_last(axes), name);
  Slot slot;
  slot.axes = axes;
  if (axes.empty()) {
    slot.address = new_register(register_type(dtype), name);
    return slot;
  }
  Dim elements = 1;
  slot.strides.resize(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const AxisState& state = axes_[axes[i]];
    slot.strides[i] = elements;
    elements = elements * (state.extent ? Dim(*state.extent) : program_.axes[axes[i]].dim);
  }
  for (AxisId axis : axes) slot.bases.push_back(axes_[axis].base);
  slot.address = new_scratch(elements, kept, name);
  return slot;
}

void KernelEmitter::emit_block(const Block& block, const std::vector<Sink>& last) {
  auto is_plain = [](const Stmt& stmt) {
    return stmt.kind == Stmt::let || stmt.kind == Stmt::store || stmt.kind == Stmt::update;
  };
  for (size_t i = 0; i <= block.size();) {
    size_t end = i;
    while (end < block.size() && is_plain(block[end])) ++end;
    bool at_end = end == block.size();
    // All that is read comes before anything is stored: a result may lie where an operand did.
    for (size_t j = i; j < end; ++j) {
      if (!done_.contains(&block[j])) prepare_statement(block[j]);
    }
    if (at_end) {
      for (const Sink& sink : last) prepare(sink.value);
    }
    std::vector<Sink> effects;
    for (size_t j = i; j < end; ++j) {
      if (block[j].kind == Stmt::let || done_.contains(&block[j])) continue;
      effects.push_back(statement_sink(block[j]));
    }
    if (at_end) {
      std::ranges::copy_if(last, std::back_inserter(effects),
                           [&](const Sink& sink) { return !is_there(sink); });
    }
    // A nest that reduces would take the first stores in, and others come after it that read what
    // those overwrite.
    if (std::ranges::any_of(effects, [&](const Sink& sink) { return overwrites(sink); })) flush();
    push_together(std::move(effects));
    flush();
    if (at_end) break;
    const Stmt& stmt = block[end];
    switch (stmt.kind) {
      case Stmt::loop:
        if (is_product_loop(stmt) && !tile_dots_.contains(stmt.yields[0])) {
          std::span<const Stmt> rest = std::span(block).subspan(end + 1);
          emit_product_loop(stmt, last.empty() ? rest : std::span<const Stmt>());
        } else {
          emit_loop(stmt);
        }
        break;
      case Stmt::when: emit_when(stmt); break;
      case Stmt::scatter: emit_scatter(stmt); break;
      default: WEFT_CHECK(false, "a statement that should have been expanded");
    }
    i = end + 1;
  }
}

void KernelEmitter::emit_when(const Stmt& stmt) {
  prepare(stmt.value);
  flush();
  llvm::Value* condition = eval(stmt.value);
  std::vector<Level> levels = levels_;
  std::set<ValueId> prepared = prepared_;
  std::map<ValueId, Slot> slots = slots_;
  if_then(condition, [&] { emit_block(stmt.body); });
  levels_ = levels;
  prepared_ = prepared;
  slots_ = slots;
}

// Positions in ascending order, one element after the other along the scatter's axis.
void KernelEmitter::emit_scatter(const Stmt& stmt) {
  prepare(stmt.value);
  prepare(stmt.where);
  prepare_ref(stmt.ref);
  flush();
  AxisState saved = axes_[stmt.axis];
  std::vector<Level> levels = std::move(levels_);
  levels_.clear();
  llvm::Value* end = ir_.CreateAdd(saved.base, saved.size);
  loop(saved.base, end, i64(1), program_.axes[stmt.axis].name, [&](llvm::Value* at) {
    levels_.assign(1, {});
    open_single(stmt.axis, at);
    axes_[stmt.axis].program = saved.program;
    Sink sink = statement_sink(stmt);
    sink.kind = stmt.adds ? Sink::update : Sink::store;
    push(std::move(sink));
    flush();
    levels_.clear();
  });
  levels_ = std::move(levels);
  axes_[stmt.axis] = saved;
}

}  // namespace weft::cpu
