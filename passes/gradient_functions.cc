// Gradients of elementary functions and activations.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "passes/formulas.h"
#include "passes/gradient_rules.h"

namespace weft {
namespace {

void give_times(GradScope& g, Value slope) { g.give(0, g.b.mul({g.grad(), slope})); }

// 1 - x, for a value in any float type.
Value one_minus(Emitter& b, Value x) { return b.sub({b.like(1, x), x}); }

}  // namespace

void grad_exp(GradScope& g) { give_times(g, g.result()); }

void grad_log(GradScope& g) { g.give(0, g.b.div({g.grad(), g.operand()})); }

void grad_sqrt(GradScope& g) {
  g.give(0, g.b.div({g.b.mul({g.grad(), g.b.like(0.5, g.grad())}), g.result()}));
}

void grad_rsqrt(GradScope& g) {
  Emitter& b = g.b;
  Value cube = b.mul({g.result(), b.mul({g.result(), g.result()})});
  give_times(g, b.mul({cube, b.like(-0.5, cube)}));
}

void grad_tanh(GradScope& g) { give_times(g, one_minus(g.b, g.b.mul({g.result(), g.result()}))); }

void grad_erf(GradScope& g) {
  Emitter& b = g.b;
  Value bell = b.exp({b.neg({b.mul({g.operand(), g.operand()})})});
  give_times(g, b.mul({bell, b.like(2 * std::numbers::inv_sqrtpi, bell)}));
}

void grad_sin(GradScope& g) { give_times(g, g.b.cos({g.operand()})); }

void grad_cos(GradScope& g) { give_times(g, g.b.neg({g.b.sin({g.operand()})})); }

void grad_sigmoid(GradScope& g) {
  give_times(g, g.b.mul({g.result(), one_minus(g.b, g.result())}));
}

void grad_softplus(GradScope& g) { give_times(g, g.b.sigmoid({g.operand()})); }

void grad_relu(GradScope& g) {
  Value zero = g.b.like(0, g.operand());
  g.give(0, g.b.select({g.b.le({g.operand(), zero}), zero, g.grad()}));
}

namespace {

// Phi(x) + x * phi(x).
Value gelu_slope(Emitter& b, Value x) {
  Value half = b.like(0.5, x);
  Value erf = b.erf({b.mul({x, b.like(std::numbers::sqrt2 / 2, x)})});
  Value below = b.mul({half, b.add({b.like(1, x), erf})});
  Value bell = b.exp({b.mul({b.like(-0.5, x), b.mul({x, x})})});
  double height = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return b.add({below, b.mul({x, b.mul({bell, b.like(height, x)})})});
}

// Of x * s with s = sigmoid(c * (x + a * x^3)).
Value gelu_tanh_slope(Emitter& b, Value x) {
  Value one = b.like(1, x);
  Value s = b.sigmoid({gelu_bend(b, x)});
  Value inner = b.add({one, b.mul({b.like(3 * kGeluCubic, x), b.mul({x, x})})});
  Value inner_slope = b.mul({b.like(gelu_scale(), x), inner});
  return b.mul({s, b.add({one, b.mul({b.mul({x, one_minus(b, s)}), inner_slope})})});
}

}  // namespace

void grad_gelu(GradScope& g) {
  bool by_tanh = g.node.attrs.text("approximate") == "tanh";
  give_times(g, by_tanh ? gelu_tanh_slope(g.b, g.operand()) : gelu_slope(g.b, g.operand()));
}

void grad_silu(GradScope& g) {
  Emitter& b = g.b;
  Value x = g.operand();
  Value s = b.sigmoid({x});
  give_times(g, b.mul({s, b.add({b.like(1, x), b.mul({x, one_minus(b, s)})})}));
}

}  // namespace weft
