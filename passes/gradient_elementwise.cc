// Gradients of arithmetic, choices between operands, and dropout.
// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient_rules.h"

namespace weft {

void grad_add(GradScope& g) {
  g.give(0, g.grad());
  g.give(1, g.grad());
}

void grad_sub(GradScope& g) {
  g.give(0, g.grad());
  if (g.wants(1)) g.give(1, g.b.neg({g.grad()}));
}

void grad_mul(GradScope& g) {
  if (g.wants(0)) g.give(0, g.b.mul({g.grad(), g.operand(1)}));
  if (g.wants(1)) g.give(1, g.b.mul({g.grad(), g.operand(0)}));
}

void grad_div(GradScope& g) {
  Value over_rhs = g.b.div({g.grad(), g.operand(1)});
  g.give(0, over_rhs);
  if (g.wants(1)) g.give(1, g.b.neg({g.b.mul({over_rhs, g.result()})}));
}

void grad_mod(GradScope& g) {
  g.give(0, g.grad());
  if (!g.wants(1)) return;
  Value quotient = g.b.floor({g.b.div({g.operand(0), g.operand(1)})});
  g.give(1, g.b.neg({g.b.mul({g.grad(), quotient})}));
}

void grad_pow(GradScope& g) {
  Emitter& b = g.b;
  Value lhs = g.operand(0);
  Value rhs = g.operand(1);
  Value zero = b.like(0, lhs);
  if (g.wants(0)) {
    // An exponent of 0 stays 0, not -1: pow(0, -1) is infinite, and 0 times that NaN.
    Value less = b.sub({rhs, b.like(1, rhs)});
    Value exponent = b.select({b.eq({rhs, zero}), zero, less});
    g.give(0, b.mul({g.grad(), b.mul({rhs, b.pow({lhs, exponent})})}));
  }
  if (g.wants(1)) {
    Value outside = b.le({lhs, zero});
    Value logarithm = b.log({b.select({outside, b.like(1, lhs), lhs})});
    Value inside = b.mul({g.grad(), b.mul({g.result(), logarithm})});
    g.give(1, b.select({outside, zero, inside}));
  }
}

namespace {

// Where smaller < larger, `operand` won and has all of the gradient; of equal ones it has half.
void give_to_winner(GradScope& g, size_t operand, Value smaller, Value larger) {
  if (!g.wants(operand)) return;
  Emitter& b = g.b;
  Value zero = b.like(0, smaller);
  Value half = b.mul({g.grad(), b.like(0.5, smaller)});
  Value tie = b.select({b.eq({smaller, larger}), half, zero});
  g.give(operand, b.select({b.lt({smaller, larger}), g.grad(), tie}));
}

}  // namespace

void grad_minimum(GradScope& g) {
  give_to_winner(g, 0, g.operand(0), g.operand(1));
  give_to_winner(g, 1, g.operand(1), g.operand(0));
}

void grad_maximum(GradScope& g) {
  give_to_winner(g, 0, g.operand(1), g.operand(0));
  give_to_winner(g, 1, g.operand(0), g.operand(1));
}

void grad_clamp(GradScope& g) {
  Emitter& b = g.b;
  Value in = g.operand();
  Value above = b.le({b.like(g.node.attrs.real("min"), in), in});
  Value below = b.le({in, b.like(g.node.attrs.real("max"), in)});
  g.give(0, b.select({b.logical_and({above, below}), g.grad(), b.like(0, in)}));
}

void grad_neg(GradScope& g) { g.give(0, g.b.neg({g.grad()})); }

void grad_abs(GradScope& g) { g.give(0, g.b.mul({g.grad(), g.b.sign({g.operand()})})); }

void grad_cast(GradScope& g) {
  // The sweep asks only for operands of a float type, and only float results carry a gradient.
  g.give(0, g.b.cast_to(g.grad(), g.b.type(g.operand()).dtype));
}

void grad_select(GradScope& g) {
  Value zero = g.b.like(0, g.grad());
  if (g.wants(1)) g.give(1, g.b.select({g.operand(0), g.grad(), zero}));
  if (g.wants(2)) g.give(2, g.b.select({g.operand(0), zero, g.grad()}));
}

// The same elements are kept, by the same factor: the mask is recomputed, never stored.
void grad_dropout(GradScope& g) { g.give(0, g.b.dropout({g.grad(), g.operand(1)}, g.node.attrs)); }

}  // namespace weft
