// Part of `raise`: the views on the way from an attention's scores to its result, and how operands
// follow them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/emit.h"

namespace weft {

// One view on the way: a transpose if there is a `perm`, else a reshape that regroups the axes
// before the last two, or a broadcast.
struct ViewStep {
  std::vector<int64_t> perm = {};
  Shape from;
  Shape to;
  bool stretches = false;
};

// The step for a view of scores; nothing if scores cannot follow it.
std::optional<ViewStep> view_step(const Graph& graph, const Node& view, const DimFacts& facts);
// Downwards; nothing for one that stretches.
std::optional<ViewStep> inverse(const ViewStep& step);

// Where an axis of `step.from` is in `step.to`. Nothing if a reshape regroups it.
std::optional<size_t> follow_axis(const ViewStep& step, size_t axis);

// A value whose axes stand for those of step.from, each of full size or of 1, with `extra` axes
// behind them, as it is after the step. It need not have all of the first axes.
Value carry(Emitter& b, Value value, const ViewStep& step, size_t extra);

// Puts ones before the first axes up to `rank`.
Value pad_rank(Emitter& b, Value value, size_t rank);
// `value` with the axis, which has size 1, taken away or put in.
Value drop_axis(Emitter& b, Value value, size_t axis);
Value insert_axis(Emitter& b, Value value, size_t axis);
// The last two axes swapped, without a transpose of a transpose.
Value swap_last_two(Emitter& b, Value value);
// The step that brings two axes to the end, and keeps the order of the others.
ViewStep to_the_end(const Shape& shape, size_t row, size_t col);

// Whether elements keep their row-major order under steps, one after the other.
bool keeps_order(const std::vector<ViewStep>& steps);

}  // namespace weft
