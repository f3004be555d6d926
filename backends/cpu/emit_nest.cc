// A loop nest: walks axes, the innermost in vectors of lanes, for stores, kept tiles and
// reductions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Value;

namespace {

// Bodies of a reduction's main loop: enough sums side by side to hide the latency of an addition.
constexpr size_t kReductionParts = 4;
// Of a main loop that computes for long: so many vectors side by side, operation by operation. What
// one waits for, the others fill; one vector after the other would fill the core's queue with
// operations that wait.
constexpr int kCostlyVectors = 8;
// What is left of such a loop is done in shorter vectors, since one by one costs as much each.
constexpr int kFewestLanes = 4;

// How well lanes fit that are `step` elements apart.
int step_score(const Dim& step) {
  if (step.is_constant(1)) return 3;
  return step.is_constant(0) ? 0 : -2;
}

}  // namespace

// How well lanes along `axis` fit: contiguous accesses count for it, scattered ones against.
int KernelEmitter::ref_score(const tile::Ref& ref, AxisId axis) const {
  const tile::Buffer& buffer = program_.buffers[ref.buffer];
  if (tile::gathers_along(program_, ref, axis)) return -2;
  Dim step = 0;
  for (size_t d = 0; d < ref.at.size(); ++d) {
    std::optional<Dim> times = tile::coefficient(ref.at[d], axis);
    if (!times) return -2;
    step = step + *times * buffer.strides[d];
  }
  return step_score(step);
}

int KernelEmitter::lane_score(ValueId id, AxisId axis, std::set<ValueId>& seen) const {
  if (id == tile::kNone || !seen.insert(id).second) return 0;
  if (auto slot = slots_.find(id); slot != slots_.end()) {
    return step_score(slot_step(slot->second, axis));
  }
  const Value& value = program_.values[id];
  if (fresh_.contains(id) && value.kind != Value::map) return 0;
  int score = value.kind == Value::load ? ref_score(value.ref, axis) : 0;
  for (ValueId operand : value.operands) score += lane_score(operand, axis, seen);
  return score + lane_score(value.where, axis, seen);
}

int KernelEmitter::nest_score(const std::vector<Sink>& sinks, AxisId axis) const {
  int score = 0;
  std::set<ValueId> seen;
  for (const Sink& sink : sinks) {
    if (sink.kind == Sink::reduce) {
      for (ValueId operand : program_.values[sink.value].operands) {
        score += lane_score(operand, axis, seen);
      }
      continue;
    }
    score += lane_score(sink.value, axis, seen);
    if (sink.stmt != nullptr) score += 2 * ref_score(sink.stmt->ref, axis);
    if (sink.kind == Sink::keep && axis == sink.axes.back()) score += 2;
  }
  return score;
}

// Of equals the last: it is the fastest in row-major order.
tile::AxisId KernelEmitter::choose_lane_axis(const std::vector<Sink>& sinks,
                                             const std::vector<AxisId>& from) const {
  AxisId best = from.back();
  int best_score = INT32_MIN;
  for (AxisId axis : from) {
    const int score = nest_score(sinks, axis);
    if (score < best_score) continue;
    best = axis;
    best_score = score;
  }
  return best;
}

// So many vectors' worth, or fewer where the axis has fewer coordinates.
int KernelEmitter::lanes_along(AxisId axis, int vectors) const {
  const int lanes = target_.f32_lanes() * vectors;
  if (!axes_[axis].extent) return lanes;
  auto most = static_cast<uint64_t>(std::max<int64_t>(1, *axes_[axis].extent));
  return static_cast<int>(std::min<uint64_t>(std::bit_floor(most), static_cast<uint64_t>(lanes)));
}

bool KernelEmitter::finds_place(const std::vector<Sink>& sinks) const {
  return std::ranges::any_of(sinks, [&](const Sink& sink) {
    return sink.kind == Sink::reduce &&
           reduction_of(program_.values[sink.value]) == tile::Reduce::argmax;
  });
}

void KernelEmitter::emit_nest(const std::vector<Sink>& sinks) {
  Nest nest{.sinks = sinks};
  std::vector<AxisId> reduced;
  for (const Sink& sink : sinks) {
    const Value& value = program_.values[sink.value];
    if (sink.kind == Sink::reduce) {
      nest.reduces = true;
      reduced = sink.reduced;
      fresh_[sink.value] = make_slot(value.dtype, walked(value.axes), "reduced");
    } else if (sink.kind == Sink::keep && !sink.target) {
      std::optional<Slot> reused = slot_to_reuse(sink, sinks);
      fresh_[sink.value] = reused ? *reused : make_slot(value.dtype, sink.axes, "kept");
    }
  }
  const std::vector<AxisId>& axes = sinks.front().axes;
  const AxisId lanes = lanes_of_nest(sinks);
  if (axes.empty()) {
    emit_body(nest, 1, 0);
  } else if (lanes != tile::kNone) {
    emit_lanes_nest(sinks, lanes);
  } else {
    AxisId lane = choose_lane_axis(sinks, nest.reduces ? reduced : axes);
    const AxisId column = nest.reduces ? lane_that_stays(sinks, reduced, lane) : tile::kNone;
    const bool strips = column != tile::kNone;
    if (strips) lane = column;
    auto add = [&](bool of_reduced) {
      for (AxisId axis : axes) {
        bool is_reduced_axis = std::ranges::count(reduced, axis) > 0;
        if (axis != lane && is_reduced_axis == of_reduced) nest.order.push_back(axis);
      }
    };
    add(false);
    nest.kept_axes = nest.order.size();
    if (strips) nest.order.push_back(lane);
    add(true);
    if (!strips) nest.order.push_back(lane);
    nest.lanes = lanes_along(lane);
    nest.parts = nest.reduces ? kReductionParts : 1;
    if (!strips && is_costly(sinks)) {
      const bool finds = finds_place(sinks);
      nest.fewest_lanes = finds ? nest.lanes : kFewestLanes;
      nest.parts = 1;
      if (!finds) nest.lanes = lanes_along(lane, kCostlyVectors);
      nest.ahead = loads_ahead(sinks, lane);
    }
    strips ? emit_strips_nest(nest, 0) : emit_axes(nest, 0);
  }
  slots_.merge(fresh_);
  fresh_.clear();
}

void KernelEmitter::emit_axes(const Nest& nest, size_t depth) {
  bool whole_rows = nest.reduces && depth == nest.kept_axes;
  if (whole_rows) start_accumulators(nest);
  if (depth + 1 == nest.order.size()) {
    emit_lane_loop(nest);
  } else {
    AxisId axis = nest.order[depth];
    const AxisState& state = axes_[axis];
    llvm::Value* end = ir_.CreateAdd(state.base, state.size);
    loop(state.base, end, i64(1), program_.axes[axis].name, [&](llvm::Value* coordinate) {
      at_level(axis, coordinate, 1, [&] { emit_axes(nest, depth + 1); });
    });
  }
  if (whole_rows) finish_accumulators(nest);
}

void KernelEmitter::at_level(AxisId axis, llvm::Value* coordinate, int lanes,
                             const std::function<void()>& body) {
  levels_.push_back({.axis = axis, .coordinate = coordinate});
  int outer_lanes = lanes_;
  AxisId outer_axis = lane_axis_;
  lanes_ = lanes;
  if (lanes > 1) lane_axis_ = axis;
  body();
  lanes_ = outer_lanes;
  lane_axis_ = outer_axis;
  levels_.pop_back();
}

// True if every tile of the axis has a multiple of `step` coordinates.
bool KernelEmitter::never_partial(AxisId axis, int64_t step) const {
  const Dim& size = program_.axes[axis].dim;
  bool even = size.is_constant() && size.constant() % step == 0;
  return even && axes_[axis].extent && *axes_[axis].extent % step == 0;
}

void KernelEmitter::emit_lane_loop(const Nest& nest) {
  AxisId axis = nest.order.back();
  const AxisState state = axes_[axis];
  llvm::Value* end = ir_.CreateAdd(state.base, state.size);
  const std::string& name = program_.axes[axis].name;
  llvm::Value* at = state.base;
  auto vectors = [&](int lanes, size_t parts) {
    int64_t step = lanes * static_cast<int64_t>(parts);
    llvm::Value* left = ir_.CreateSub(end, at);
    llvm::Value* covered = ir_.CreateSub(left, ir_.CreateSRem(left, i64(step)));
    llvm::Value* stop = ir_.CreateAdd(at, covered);
    loop(at, stop, i64(step), name, [&](llvm::Value* first) {
      for (size_t part = 0; part < parts; ++part) {
        llvm::Value* here = ir_.CreateAdd(first, i64(lanes * static_cast<int64_t>(part)));
        at_level(axis, here, lanes, [&] {
          if (lanes == nest.lanes && part == 0) ask_ahead(nest);
          emit_body(nest, lanes, part);
        });
      }
    });
    at = stop;
  };
  if (nest.lanes > 1) {
    if (nest.parts > 1) vectors(nest.lanes, nest.parts);
    if (!never_partial(axis, nest.lanes * static_cast<int64_t>(nest.parts)) || nest.parts == 1) {
      vectors(nest.lanes, 1);
    }
    for (int lanes = nest.lanes;;) {
      if (never_partial(axis, lanes)) return;
      lanes = lanes > target_.f32_lanes() ? target_.f32_lanes() : lanes / 2;
      if (lanes < nest.fewest_lanes) break;
      vectors(lanes, 1);
    }
  }
  loop(at, end, i64(1), name + ".rest",
       [&](llvm::Value* here) { at_level(axis, here, 1, [&] { emit_body(nest, 1, 0); }); });
}

// Everything is read before anything is written, so that a result may lie where an operand did.
void KernelEmitter::emit_body(const Nest& nest, int lanes, size_t part) {
  std::vector<llvm::Value*> values;
  for (const Sink& sink : nest.sinks) {
    const Value& value = program_.values[sink.value];
    if (sink.kind == Sink::reduce) {
      llvm::Value* term = eval_lanes(value.operands[0]);
      if (value.kind == Value::dot) {
        DType dtype = reduced_dtype(value);
        llvm::Value* other = eval_lanes(value.operands[1]);
        term = emit_map(Op::mul, {term, other}, dtype, dtype);
      }
      values.push_back(term);
    } else if (sink.kind == Sink::keep && !sink.target) {
      llvm::Value* computed = compute(value);
      levels_[level_of(value.axes)].known[sink.value] = computed;
      values.push_back(computed);
    } else {
      values.push_back(eval(sink.value));
    }
  }
  std::vector<std::pair<Lane, llvm::Value*>> places;
  for (const Sink& sink : nest.sinks) {
    if (sink.stmt == nullptr) {
      places.push_back({});
      continue;
    }
    llvm::Value* where = sink.stmt->where == tile::kNone ? nullptr : eval(sink.stmt->where);
    places.emplace_back(offset(sink.stmt->ref, where), where);
  }
  for (size_t i = 0; i < nest.sinks.size(); ++i) {
    const Sink& sink = nest.sinks[i];
    const Value& value = program_.values[sink.value];
    llvm::Value* all = splat(values[i], lanes);
    if (sink.kind == Sink::reduce) {
      accumulate(sink, all, lanes, part);
    } else if (sink.kind == Sink::keep) {
      store_slot(sink.target ? *sink.target : fresh_.at(sink.value), value.dtype, all);
    } else {
      const auto& [at, where] = places[i];
      DType dtype = program_.buffers[sink.stmt->ref.buffer].dtype;
      llvm::Value* buffer = buffer_addresses_[sink.stmt->ref.buffer];
      if (sink.kind == Sink::update) {
        llvm::Value* old = where == nullptr
                               ? load_at(dtype, buffer, at)
                               : load_where(dtype, buffer, at, where, number(dtype, 0, 0));
        all = emit_map(Op::add, {splat(old, lanes), all}, dtype, dtype);
      }
      if (where == nullptr && may_stream(*sink.stmt, lanes)) {
        stream_at(*sink.stmt, at, all);
      } else {
        store_at(dtype, buffer, at, all, where);
      }
    }
  }
}

}  // namespace weft::cpu
