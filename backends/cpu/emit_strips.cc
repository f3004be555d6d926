// Reductions over rows, such as the sum of a product's columns: lanes along the columns, a strip of
// a few vectors at a time, so that memory is read and written in the order it lies in.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Value;

namespace {

constexpr size_t kVectors = 4;  // of a strip: that many sums hide the latency of an addition

}  // namespace

// An axis that is not reduced and fits lanes better than `otherwise`; kNone if there is none.
tile::AxisId KernelEmitter::lane_that_stays(const std::vector<Sink>& sinks,
                                            const std::vector<AxisId>& reduced,
                                            AxisId otherwise) const {
  std::vector<AxisId> stay;
  for (AxisId axis : sinks.front().axes) {
    if (std::ranges::count(reduced, axis) == 0) stay.push_back(axis);
  }
  for (const Sink& sink : sinks) {
    const Value& value = program_.values[sink.value];
    if (sink.kind != Sink::reduce) continue;
    if (value.kind == Value::dot || reduction_of(value) == tile::Reduce::argmax) return tile::kNone;
  }
  if (stay.empty()) return tile::kNone;
  const AxisId best = choose_lane_axis(sinks, stay);
  return nest_score(sinks, best) > nest_score(sinks, otherwise) ? best : tile::kNone;
}

void KernelEmitter::emit_strips_nest(const Nest& nest, size_t depth) {
  const AxisId axis = nest.order[depth];
  const AxisState state = axes_[axis];
  llvm::Value* end = ir_.CreateAdd(state.base, state.size);
  const std::string& name = program_.axes[axis].name;
  if (depth < nest.kept_axes) {
    loop(state.base, end, i64(1), name, [&](llvm::Value* at) {
      at_level(axis, at, 1, [&] { emit_strips_nest(nest, depth + 1); });
    });
    return;
  }
  llvm::Value* at = state.base;
  auto strips = [&](int lanes, size_t vectors) {
    Nest strip = nest;
    strip.lanes = lanes;
    strip.parts = vectors;
    const int64_t step = lanes * static_cast<int64_t>(vectors);
    llvm::Value* left = ir_.CreateSub(end, at);
    llvm::Value* stop = ir_.CreateAdd(at, ir_.CreateSub(left, ir_.CreateSRem(left, i64(step))));
    // A level of its own: what is computed before the loop over rows belongs to this strip.
    loop(at, stop, i64(step), name,
         [&](llvm::Value* first) { at_level(axis, first, 1, [&] { emit_strip(strip, first); }); });
    at = stop;
  };
  if (nest.lanes > 1) {
    strips(nest.lanes, kVectors);
    if (never_partial(axis, nest.lanes * static_cast<int64_t>(kVectors))) return;
    strips(nest.lanes, 1);
    if (never_partial(axis, nest.lanes)) return;
  }
  strips(1, 1);
}

void KernelEmitter::emit_strip(const Nest& strip, llvm::Value* first) {
  start_accumulators(strip);
  emit_strip_rows(strip, first, strip.kept_axes + 1);
  for (size_t part = 0; part < strip.parts; ++part) {
    llvm::Value* at = ir_.CreateAdd(first, i64(strip.lanes * static_cast<int64_t>(part)));
    at_level(strip.order[strip.kept_axes], at, strip.lanes, [&] {
      for (const Sink& sink : strip.sinks) {
        if (sink.kind != Sink::reduce) continue;
        const Accumulator& from = accumulators_.at(sink.value);
        llvm::AllocaInst* sum = strip.lanes > 1 ? from.parts[part] : from.scalar;
        store_slot(fresh_.at(sink.value), program_.values[sink.value].dtype,
                   ir_.CreateLoad(sum->getAllocatedType(), sum));
      }
    });
  }
}

// The loops along the reduced axes, and inside of them the vectors of the strip.
void KernelEmitter::emit_strip_rows(const Nest& strip, llvm::Value* first, size_t depth) {
  if (depth < strip.order.size()) {
    const AxisId axis = strip.order[depth];
    const AxisState& state = axes_[axis];
    loop(state.base, ir_.CreateAdd(state.base, state.size), i64(1), program_.axes[axis].name,
         [&](llvm::Value* at) {
           at_level(axis, at, 1, [&] { emit_strip_rows(strip, first, depth + 1); });
         });
    return;
  }
  for (size_t part = 0; part < strip.parts; ++part) {
    llvm::Value* at = ir_.CreateAdd(first, i64(strip.lanes * static_cast<int64_t>(part)));
    at_level(strip.order[strip.kept_axes], at, strip.lanes,
             [&] { emit_body(strip, strip.lanes, part); });
  }
}

}  // namespace weft::cpu
