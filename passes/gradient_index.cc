// Gradients of gathers, scatters and slices at a runtime position.
// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient_rules.h"
#include "passes/sizes.h"

namespace weft {
namespace {

Value zeros_like(GradScope& g, size_t operand) { return g.b.zeros(g.b.type(g.operand(operand))); }

// Whether an update of a scatter is the last one at its index, and so the one that stays: scatter
// the updates' positions the same way, and look who is found there. bool of the indices' shape.
Value is_last_at_index(GradScope& g) {
  Emitter& b = g.b;
  Value indices = g.operand(1);
  const Type type = b.type(indices);
  Dim slots = g.shape(0)[static_cast<size_t>(g.node.attrs.integer("axis"))];
  Attrs in_order{{"shape", Shape{element_count(type.shape)}}, {"dtype", type.dtype}};
  Value positions = b.reshape_to(b.iota({}, in_order), type.shape);
  Value nobody = b.full(-1, type.dtype, {slots});
  Value last = b.scatter({nobody, indices, positions});
  return b.eq({b.gather({last, indices}), positions});
}

}  // namespace

void grad_gather(GradScope& g) {
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  g.give(0, g.b.scatter_add({zeros_like(g, 0), g.operand(1), g.grad()}, axis));
}

void grad_scatter(GradScope& g) {
  Emitter& b = g.b;
  Value indices = g.operand(1);
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  if (g.wants(0)) g.give(0, b.scatter({g.grad(), indices, zeros_like(g, 2)}, axis));
  if (!g.wants(2)) return;
  Value stays = is_last_at_index(g);
  Shape aligned = b.shape(stays);  // [I.., 1..] broadcasts against [.., I.., ..]
  aligned.resize(g.shape(2).size() - static_cast<size_t>(g.node.attrs.integer("axis")), 1);
  Value there = b.gather({g.grad(), indices}, axis);
  g.give(2, b.select({b.reshape_to(stays, aligned), there, b.like(0, there)}));
}

void grad_scatter_add(GradScope& g) {
  g.give(0, g.grad());
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  if (g.wants(2)) g.give(2, g.b.gather({g.grad(), g.operand(1)}, axis));
}

void grad_take_along(GradScope& g) {
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  g.give(0, g.b.add_along_axis({zeros_like(g, 0), g.operand(1), g.grad()}, axis));
}

void grad_add_along(GradScope& g) {
  g.give(0, g.grad());
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  if (g.wants(2)) g.give(2, g.b.take_along_axis({g.grad(), g.operand(1)}, axis));
}

void grad_dynamic_slice(GradScope& g) {
  Attrs axis{{"axis", g.node.attrs.integer("axis")}};
  g.give(0, g.b.update_slice({zeros_like(g, 0), g.grad(), g.operand(1)}, axis));
}

void grad_update_slice(GradScope& g) {
  int64_t axis = g.node.attrs.integer("axis");
  Value start = g.operand(2);
  if (g.wants(0)) {
    g.give(0, g.b.update_slice({g.grad(), zeros_like(g, 1), start}, {{"axis", axis}}));
  }
  if (!g.wants(1)) return;
  const Dim size = g.shape(1)[static_cast<size_t>(axis)];
  g.give(1, g.b.dynamic_slice({g.grad(), start}, {{"axis", axis}, {"size", size}}));
}

}  // namespace weft
