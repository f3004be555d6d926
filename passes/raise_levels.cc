// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_levels.h"

#include <algorithm>

#include "passes/permutation.h"
#include "passes/views.h"

namespace weft {
namespace {

std::vector<int64_t> identity(size_t rank) {
  std::vector<int64_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
  return perm;
}

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

bool keeps_last_two(const Shape& from, const Shape& to, const DimFacts& facts) {
  if (from.size() < 2 || to.size() < 2) return false;
  for (size_t i = 1; i <= 2; ++i) {
    if (!facts.equal(from[from.size() - i], to[to.size() - i])) return false;
  }
  return true;
}

bool is_one(const Dim& dim) { return dim.is_constant(1); }

// A transpose of the last two axes, one of which has size 1.
bool swaps_a_one(const Shape& from, const Shape& to) {
  size_t rank = from.size();
  if (rank != to.size() || rank < 2 || leading(from) != leading(to)) return false;
  return from[rank - 1] == to[rank - 2] && from[rank - 2] == to[rank - 1] &&
         is_one(from[rank - 1]) != is_one(from[rank - 2]);
}

// A reshape, without one of a reshape.
Value reshaped(Emitter& b, Value value, const Shape& shape) {
  while (b.graph().node(value).op == Op::reshape) value = b.graph().node(value).operands[0];
  return b.reshape_to(value, shape);
}

// A transpose that moves nothing but axes of size 1 is a reshape.
Value transposed(Emitter& b, Value value, const std::vector<int64_t>& perm) {
  const Shape shape = b.shape(value);
  Shape moved;
  std::vector<int64_t> wide;
  for (int64_t axis : perm) {
    moved.push_back(shape[static_cast<size_t>(axis)]);
    if (!is_one(moved.back())) wide.push_back(axis);
  }
  if (std::ranges::is_sorted(wide)) return reshaped(b, value, moved);
  return b.transpose({value}, {{"perm", perm}});
}

// What becomes of the first axes of a value, some of which are 1, under a reshape; those that a
// group stretches only in part are stretched in `value` first.
struct Regrouped {
  Shape before;  // what the value has to be stretched to
  Shape after;
};

Regrouped regroup(const Shape& have, const Shape& from, const Shape& to, const DimFacts& facts) {
  Regrouped result{have, Shape(to.size(), Dim(1))};
  for (const ReshapeGroup& group : reshape_groups(from, to, facts)) {
    bool thin = std::ranges::all_of(group.from, [&](size_t axis) { return is_one(have[axis]); });
    if (thin) continue;
    for (size_t axis : group.from) result.before[axis] = from[axis];
    for (size_t axis : group.to) result.after[axis] = to[axis];
  }
  return result;
}

Value carry_reshape(Emitter& b, Value value, const ViewStep& step, size_t extra) {
  value = pad_rank(b, value, step.from.size() + extra);
  const Shape shape = b.shape(value);
  auto end = shape.begin() + static_cast<int64_t>(step.from.size() - 2);
  Regrouped lead =
      regroup(Shape(shape.begin(), end), leading(step.from), leading(step.to), b.module().dims);
  lead.before.insert(lead.before.end(), end, shape.end());
  lead.after.insert(lead.after.end(), end, shape.end());
  return reshaped(b, b.broadcast_to(value, lead.before), lead.after);
}

}  // namespace

std::optional<ViewStep> view_step(const Graph& graph, const Node& view, const DimFacts& facts) {
  ViewStep step;
  step.from = graph.type(view.operands[0]).shape;
  step.to = view.types[0].shape;
  if (view.op == Op::transpose) {
    step.perm = view.attrs.ints("perm");
    return step;
  }
  if (view.op == Op::broadcast) {
    step.stretches = true;
    return step;
  }
  if (view.op != Op::reshape) return std::nullopt;
  if (swaps_a_one(step.from, step.to)) {
    step.perm = identity(step.to.size());
    std::swap(step.perm[step.perm.size() - 1], step.perm[step.perm.size() - 2]);
    return step;
  }
  return keeps_last_two(step.from, step.to, facts) ? std::optional(step) : std::nullopt;
}

std::optional<ViewStep> inverse(const ViewStep& step) {
  if (step.stretches) return std::nullopt;
  return ViewStep{inverse(step.perm), step.to, step.from, false};
}

std::optional<size_t> follow_axis(const ViewStep& step, size_t axis) {
  if (!step.perm.empty()) {
    auto found = std::ranges::find(step.perm, static_cast<int64_t>(axis));
    return static_cast<size_t>(found - step.perm.begin());
  }
  size_t from_end = step.from.size() - axis;
  if (!step.stretches && from_end > 2) return std::nullopt;
  return step.to.size() - from_end;
}

Value carry(Emitter& b, Value value, const ViewStep& step, size_t extra) {
  if (step.stretches) return value;
  if (step.perm.empty()) return carry_reshape(b, value, step, extra);
  std::vector<int64_t> perm = step.perm;
  for (size_t i = 0; i < extra; ++i) perm.push_back(static_cast<int64_t>(perm.size()));
  return transposed(b, pad_rank(b, value, perm.size()), perm);
}

Value pad_rank(Emitter& b, Value value, size_t rank) {
  Shape shape = b.shape(value);
  if (shape.size() >= rank) return value;
  shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  return reshaped(b, value, shape);
}

Value drop_axis(Emitter& b, Value value, size_t axis) {
  Shape shape = b.shape(value);
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return reshaped(b, value, shape);
}

Value insert_axis(Emitter& b, Value value, size_t axis) {
  Shape shape = b.shape(value);
  shape.insert(shape.begin() + static_cast<int64_t>(axis), Dim(1));
  return reshaped(b, value, shape);
}

Value swap_last_two(Emitter& b, Value value) {
  const Node node = b.graph().node(value);
  std::vector<int64_t> perm = identity(b.shape(value).size());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  if (node.op != Op::transpose) return b.transpose({value}, {{"perm", perm}});
  std::vector<int64_t> both;
  for (int64_t axis : perm) both.push_back(node.attrs.ints("perm")[static_cast<size_t>(axis)]);
  if (std::ranges::is_sorted(both)) return node.operands[0];
  return b.transpose({node.operands[0]}, {{"perm", both}});
}

ViewStep to_the_end(const Shape& shape, size_t row, size_t col) {
  ViewStep step;
  step.from = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != row && i != col) step.perm.push_back(static_cast<int64_t>(i));
  }
  step.perm.push_back(static_cast<int64_t>(row));
  step.perm.push_back(static_cast<int64_t>(col));
  for (int64_t axis : step.perm) step.to.push_back(shape[static_cast<size_t>(axis)]);
  return step;
}

bool keeps_order(const std::vector<ViewStep>& steps) {
  if (steps.empty()) return true;
  std::vector<int64_t> order = identity(steps[0].from.size());
  for (const ViewStep& step : steps) {
    if (step.stretches) return false;
    if (!step.perm.empty()) {
      std::vector<int64_t> next;
      for (int64_t axis : step.perm) next.push_back(order[static_cast<size_t>(axis)]);
      order = next;
      continue;
    }
    // A reshape of axes that are out of order mixes them up for good.
    bool swapped = order[order.size() - 2] > order[order.size() - 1];
    if (!std::is_sorted(order.begin(), order.end() - 2)) return false;
    order = identity(step.to.size());
    if (swapped) std::swap(order[order.size() - 2], order[order.size() - 1]);
  }
  return std::ranges::is_sorted(order);
}

}  // namespace weft
