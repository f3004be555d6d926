// Sinks: what a loop nest computes, and which of them share one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Stmt;
using tile::Value;

std::vector<tile::AxisId> KernelEmitter::walked(std::vector<AxisId> axes) const {
  std::erase_if(axes, [&](AxisId axis) { return axes_[axis].single; });
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
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

}  // namespace weft::cpu
