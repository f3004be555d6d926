// Statements: which values are computed before they are used, and in which loop nest.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Block;
using tile::Stmt;
using tile::Value;

std::vector<tile::AxisId> KernelEmitter::walked(std::vector<AxisId> axes) const {
  std::erase_if(axes, [&](AxisId axis) { return axes_[axis].single; });
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

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

namespace {

void add_axes(const tile::Program& program, const tile::Index& at,
              std::vector<tile::AxisId>& axes) {
  tile::for_each_term(at, [&](const tile::Index::Term& term) {
    if (term.kind == tile::Index::Term::axis) axes.push_back(term.axis_id);
    if (term.value_id == tile::kNone) return;
    const auto& more = program.values[term.value_id].axes;
    axes.insert(axes.end(), more.begin(), more.end());
  });
}

}  // namespace

Sink KernelEmitter::statement_sink(const Stmt& stmt) const {
  Sink sink{.kind = stmt.kind == Stmt::update ? Sink::update : Sink::store};
  sink.value = stmt.value;
  sink.stmt = &stmt;
  std::vector<AxisId> axes = program_.values[stmt.value].axes;
  for (const tile::Index& at : stmt.ref.at) add_axes(program_, at, axes);
  if (stmt.where != tile::kNone) {
    const auto& more = program_.values[stmt.where].axes;
    axes.insert(axes.end(), more.begin(), more.end());
  }
  sink.axes = walked(axes);
  return sink;
}

Sink KernelEmitter::keep_sink(ValueId id, std::optional<Slot> target) const {
  Sink sink{.kind = Sink::keep, .value = id};
  sink.axes = walked(target ? target->axes : program_.values[id].axes);
  sink.target = std::move(target);
  return sink;
}

// True if computing `id` reads one of `values` (whose numbers are not there yet).
bool KernelEmitter::depends_on(ValueId id, const std::set<ValueId>& values) const {
  std::set<ValueId> seen;
  std::function<bool(ValueId)> reaches = [&](ValueId at) {
    if (at == tile::kNone || !seen.insert(at).second) return false;
    if (values.contains(at)) return true;
    if (slots_.contains(at)) return false;
    const Value& value = program_.values[at];
    bool found = std::ranges::any_of(value.operands, reaches) || reaches(value.where);
    auto look = [&](const tile::Index& index) {
      tile::for_each_term(
          index, [&](const tile::Index::Term& term) { found = found || reaches(term.value_id); });
    };
    look(value.index);
    for (const tile::Index& index : value.ref.at) look(index);
    return found;
  };
  return reaches(id);
}

// Joins the nest being collected if it walks the same axes and nothing in it is needed first.
void KernelEmitter::push(Sink sink) {
  if (!pending_.empty()) {
    std::set<ValueId> unfinished;
    const std::vector<AxisId>* reduced = nullptr;
    for (const Sink& other : pending_) {
      if (other.kind == Sink::reduce) {
        unfinished.insert(other.value);
        reduced = &other.reduced;
      }
    }
    bool joins = sink.axes == pending_.front().axes;
    if (sink.kind == Sink::reduce && reduced != nullptr) joins = joins && sink.reduced == *reduced;
    auto waits = [&](ValueId id) { return id != tile::kNone && depends_on(id, unfinished); };
    if (joins && !unfinished.empty()) {
      if (sink.kind == Sink::reduce) {
        for (ValueId operand : program_.values[sink.value].operands)
          joins = joins && !waits(operand);
      } else {
        joins = !waits(sink.value);
      }
      if (joins && sink.stmt != nullptr) {
        joins = !waits(sink.stmt->where);
        for (const tile::Index& at : sink.stmt->ref.at) {
          tile::for_each_term(
              at, [&](const tile::Index::Term& term) { joins = joins && !waits(term.value_id); });
        }
      }
    }
    if (!joins) flush();
  }
  pending_.push_back(std::move(sink));
}

// Sinks over the same axes one after the other, so that they share a nest.
void KernelEmitter::push_together(std::vector<Sink> sinks) {
  while (!sinks.empty()) {
    std::vector<AxisId> axes = sinks.front().axes;
    std::vector<Sink> others;
    for (Sink& sink : sinks) {
      if (sink.axes == axes) {
        push(std::move(sink));
      } else {
        others.push_back(std::move(sink));
      }
    }
    sinks = std::move(others);
  }
}

void KernelEmitter::flush() {
  if (pending_.empty()) return;
  std::vector<Sink> sinks = std::move(pending_);
  pending_.clear();
  emit_nest(sinks);
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

// True if the program may read what was there before.
bool KernelEmitter::overwrites(const Sink& sink) const {
  return sink.kind == Sink::store &&
         program_.buffers[sink.stmt->ref.buffer].mode == tile::Buffer::inout;
}

// True if a value was computed where it is to be kept.
bool KernelEmitter::is_there(const Sink& sink) const {
  auto slot = slots_.find(sink.value);
  return sink.target && slot != slots_.end() && slot->second.address == sink.target->address;
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
