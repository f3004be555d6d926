// Gradients of views, joins, padding and patches.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/gradient_rules.h"
#include "passes/permutation.h"

namespace weft {

void grad_reshape(GradScope& g) { g.give(0, g.b.reshape_to(g.grad(), g.shape(0))); }

void grad_transpose(GradScope& g) {
  g.give(0, g.b.transpose({g.grad()}, {{"perm", inverse(g.node.attrs.ints("perm"))}}));
}

void grad_broadcast(GradScope& g) { g.give(0, g.grad()); }

namespace {

// A list of strides or interiors as an attribute has it: empty stands for the default everywhere.
int64_t entry(const std::vector<int64_t>& list, size_t axis, int64_t fallback) {
  return list.empty() ? fallback : list[axis];
}

// [.., n, ..] -> [.., n * stride, ..] with stride - 1 zeros after each element. Unlike an interior
// padding its size has one form for every n, 0 included.
Value spread(Emitter& b, Value value, size_t axis, int64_t stride) {
  Shape shape = b.shape(value);
  auto at = shape.begin() + static_cast<int64_t>(axis);
  Dim before = element_count(Shape(shape.begin(), at));
  Dim after = element_count(Shape(at + 1, shape.end()));
  Value apart = b.reshape_to(value, {before, *at, 1, after});
  Attrs gaps{{"low", Shape{0, 0, 0, 0}}, {"high", Shape{0, 0, stride - 1, 0}}};
  *at = *at * stride;
  return b.reshape_to(b.pad({apart}, gaps), shape);
}

Shape constant_shape(size_t rank, const Dim& value) { return Shape(rank, value); }

}  // namespace

// The gradient put back between zeros.
void grad_slice(GradScope& g) {
  Emitter& b = g.b;
  const Shape in = g.shape(0);
  const std::vector<Dim>& starts = g.node.attrs.dims("starts");
  const std::vector<Dim>& limits = g.node.attrs.dims("limits");
  Value grad = g.grad();
  Shape covered;
  Shape high;
  for (size_t i = 0; i < in.size(); ++i) {
    covered.push_back(limits[i] - starts[i]);
    high.push_back(in[i] - limits[i]);
    int64_t stride = entry(g.node.attrs.ints("strides"), i, 1);
    // Beyond the limit a stride means nothing, and need not cost memory.
    if (covered[i].is_constant()) stride = std::min(stride, covered[i].constant());
    if (stride > 1) grad = spread(b, grad, i, stride);
  }
  if (b.shape(grad) != covered) {  // the zeros after the last element may reach beyond the limit
    Attrs within{{"starts", constant_shape(in.size(), 0)}, {"limits", covered}};
    grad = b.slice({grad}, within);
  }
  g.give(0, b.pad({grad}, {{"low", starts}, {"high", high}}));
}

void grad_pad(GradScope& g) {
  Emitter& b = g.b;
  const Shape in = g.shape(0);
  const std::vector<Dim>& low = g.node.attrs.dims("low");
  std::vector<int64_t> strides;
  Shape limits;
  Shape room;
  for (size_t i = 0; i < in.size(); ++i) {
    bool has_gaps = !in[i].is_constant(0) && !in[i].is_constant(1);
    int64_t stride = has_gaps ? entry(g.node.attrs.ints("interior"), i, 0) + 1 : 1;
    strides.push_back(stride);
    limits.push_back(low[i] + in[i] * stride);
    room.push_back(stride - 1);
  }
  Shape none = constant_shape(in.size(), 0);
  Value grad = g.grad();
  // The limit counts a gap after the last element too, which need not be there.
  if (room != none) grad = b.pad({grad}, {{"low", none}, {"high", room}});
  g.give(0, b.slice({grad}, {{"starts", low}, {"limits", limits}, {"strides", strides}}));
}

void grad_concat(GradScope& g) {
  Emitter& b = g.b;
  auto axis = static_cast<size_t>(g.node.attrs.integer("axis"));
  Shape starts = constant_shape(g.shape(0).size(), 0);
  Shape limits = g.node.types[0].shape;
  for (size_t i = 0; i < g.node.operands.size(); ++i) {
    limits[axis] = starts[axis] + g.shape(i)[axis];
    if (g.wants(i)) g.give(i, b.slice({g.grad()}, {{"starts", starts}, {"limits", limits}}));
    starts[axis] = limits[axis];
  }
}

void grad_patches(GradScope& g) {
  Attrs attrs = g.node.attrs;
  attrs.set("height", g.shape(0)[1]);
  attrs.set("width", g.shape(0)[2]);
  g.give(0, g.b.fold_patches({g.grad()}, attrs));
}

void grad_fold_patches(GradScope& g) {
  const Attrs& attrs = g.node.attrs;
  g.give(0,
         g.b.patches({g.grad()}, {{"size", attrs.ints("size")}, {"stride", attrs.ints("stride")}}));
}

}  // namespace weft
