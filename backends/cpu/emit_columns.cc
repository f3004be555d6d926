// Nests over tiles that have lanes along an axis that stays: reductions run from register to
// register, and the end of a row is a vector like the others.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Value;

namespace {

constexpr int64_t kParts = 4;  // sums side by side, to hide the latency of an addition

}  // namespace

// The axis that a nest has to have its lanes along; kNone: any.
tile::AxisId KernelEmitter::lanes_of_nest(const std::vector<Sink>& sinks) const {
  auto known = tile_lanes_.find(sinks.front().axes);
  AxisId lane = known == tile_lanes_.end() ? tile::kNone : known->second;
  for (const Sink& sink : sinks) {
    if (sink.lane != tile::kNone) lane = sink.lane;
    if (sink.stmt != nullptr) return tile::kNone;
    if (sink.kind != Sink::reduce) continue;
    const bool argmax = reduction_of(program_.values[sink.value]) == tile::Reduce::argmax;
    if (argmax || std::ranges::count(sink.reduced, lane) > 0) return tile::kNone;
  }
  return lane;
}

// Calls body for each vector of the axis; in the last one, lanes beyond the end read zeros.
void KernelEmitter::for_each_vector(AxisId axis, int lanes, const std::function<void()>& body) {
  const AxisState state = axes_[axis];
  llvm::Value* end = ir_.CreateAdd(state.base, state.size);
  llvm::Value* rest = ir_.CreateSRem(state.size, i64(lanes));
  llvm::Value* stop = ir_.CreateSub(end, rest);
  const std::string& name = program_.axes[axis].name;
  loop(state.base, stop, i64(lanes), name,
       [&](llvm::Value* at) { at_level(axis, at, lanes, body); });
  if (never_partial(axis, lanes)) return;
  loop(stop, end, i64(lanes), name + ".rest", [&](llvm::Value* at) {
    at_level(axis, at, lanes, [&] {
      existing_lanes_ = first_lanes(ir_.CreateSub(end, at), lanes);
      body();
      existing_lanes_ = nullptr;
    });
  });
}

// Without reductions: rows of vectors.
void KernelEmitter::emit_rows_nest(const Nest& nest, size_t depth) {
  const AxisId axis = nest.order[depth];
  if (depth + 1 == nest.order.size()) {
    for_each_vector(axis, nest.lanes, [&] { emit_body(nest, nest.lanes, 0); });
    return;
  }
  const AxisState& state = axes_[axis];
  loop(state.base, ir_.CreateAdd(state.base, state.size), i64(1), program_.axes[axis].name,
       [&](llvm::Value* at) { at_level(axis, at, 1, [&] { emit_rows_nest(nest, depth + 1); }); });
}

// With them: one vector of results after the other.
void KernelEmitter::emit_columns_nest(const Nest& nest, size_t depth) {
  const AxisId axis = nest.order[depth];
  const AxisState& state = axes_[axis];
  llvm::Value* end = ir_.CreateAdd(state.base, state.size);
  const std::string& name = program_.axes[axis].name;
  auto next = [&](llvm::Value* at) {
    at_level(axis, at, 1, [&] { emit_columns_nest(nest, depth + 1); });
  };
  if (depth == nest.kept_axes) {
    for_each_vector(axis, nest.lanes, [&] {
      start_accumulators(nest);
      emit_columns_nest(nest, depth + 1);
      finish_columns(nest);
    });
  } else if (depth + 1 < nest.order.size()) {
    loop(state.base, end, i64(1), name, next);
  } else {
    emit_columns_body(nest);
  }
}

// The loop along the last of the reduced axes. What goes to which sum depends on the coordinate
// alone: where a tile ends early makes no difference to what came before.
void KernelEmitter::emit_columns_body(const Nest& nest) {
  const AxisId axis = nest.order.back();
  const AxisState& state = axes_[axis];
  llvm::Value* end = ir_.CreateAdd(state.base, state.size);
  llvm::Value* stop = ir_.CreateSub(end, ir_.CreateSRem(state.size, i64(kParts)));
  auto one = [&](llvm::Value* at, int64_t part) {
    at_level(axis, ir_.CreateAdd(at, i64(part)), 1,
             [&] { at_lanes(nest, static_cast<size_t>(part)); });
  };
  loop(state.base, stop, i64(kParts), program_.axes[axis].name, [&](llvm::Value* at) {
    for (int64_t part = 0; part < kParts; ++part) one(at, part);
  });
  for (int64_t part = 0; part + 1 < kParts; ++part) {  // each once at most
    loop(stop, ir_.CreateSub(end, i64(part)), i64(kParts), program_.axes[axis].name + ".rest",
         [&](llvm::Value* at) { one(at, part); });
  }
}

// The body of a nest inside of the loop along a reduced axis: lanes are those of a level outside.
void KernelEmitter::at_lanes(const Nest& nest, size_t part) {
  const int inner = lanes_;
  lanes_ = nest.lanes;
  emit_body(nest, nest.lanes, part);
  lanes_ = inner;
}

void KernelEmitter::finish_columns(const Nest& nest) {
  for (const Sink& sink : nest.sinks) {
    if (sink.kind != Sink::reduce) continue;
    const Value& value = program_.values[sink.value];
    const DType dtype = reduced_dtype(value);
    llvm::Value* sum = nullptr;
    for (llvm::AllocaInst* part : accumulators_.at(sink.value).parts) {
      llvm::Value* more = ir_.CreateLoad(part->getAllocatedType(), part);
      sum = sum == nullptr ? more : combine(reduction_of(value), sum, more, dtype);
    }
    store_slot(fresh_.at(sink.value), value.dtype, sum);
  }
}

void KernelEmitter::emit_lanes_nest(const std::vector<Sink>& sinks, AxisId lane) {
  Nest nest{.sinks = sinks};
  std::vector<AxisId> reduced;
  for (const Sink& sink : sinks) {
    if (sink.kind == Sink::reduce) reduced = sink.reduced;
  }
  nest.reduces = !reduced.empty();
  nest.lanes = target_.f32_lanes();
  nest.parts = nest.reduces ? size_t{kParts} : 1;
  for (AxisId axis : sinks.front().axes) {
    if (axis != lane && std::ranges::count(reduced, axis) == 0) nest.order.push_back(axis);
  }
  nest.kept_axes = nest.order.size();
  nest.order.push_back(lane);
  nest.order.insert(nest.order.end(), reduced.begin(), reduced.end());
  nest.reduces ? emit_columns_nest(nest, 0) : emit_rows_nest(nest, 0);
}

}  // namespace weft::cpu
