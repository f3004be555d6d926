// Gradients of ops over rows: softmax and its kin, normalisations, losses.
// SPDX-License-Identifier: Apache-2.0
#include "passes/formulas.h"
#include "passes/gradient_rules.h"
#include "passes/sizes.h"

namespace weft {

// A row that is masked everywhere has a softmax of zeros, and so a gradient of zeros.
void grad_softmax(GradScope& g) {
  Emitter& b = g.b;
  Value y = g.result();
  Value mean = b.sum({b.mul({g.grad(), y})}, keep_axis(g.node.attrs.integer("axis")));
  g.give(0, b.mul({y, b.sub({g.grad(), mean})}));
}

void grad_log_softmax(GradScope& g) {
  Emitter& b = g.b;
  Value total = b.sum({g.grad()}, keep_axis(g.node.attrs.integer("axis")));
  g.give(0, b.sub({g.grad(), b.mul({b.exp({g.result()}), total})}));
}

void grad_logsumexp(GradScope& g) {
  int64_t axis = g.node.attrs.integer("axis");
  Value share = g.b.softmax({g.operand()}, {{"axis", axis}});
  g.give(0, g.b.mul({expand_over(g.b, g.grad(), g.shape(0), {axis}), share}));
}

namespace {

// Gradients of in and gain for normal(in) * gain, with the mean taken away first if `centre`.
void give_normalised(GradScope& g, bool centre) {
  Emitter& b = g.b;
  DType dtype = b.type(g.operand(0)).dtype;
  NormalRows rows = normalise_rows(b, g.operand(0), g.node.attrs.real("eps"), centre);
  Value grad = widen(b, g.grad());
  Attrs over_row = keep_axis(last_axis(g.shape(0)));
  if (g.wants(0)) {
    Value inner = b.mul({grad, widen(b, g.operand(1))});
    Value along = b.mul({rows.normal, b.mean({b.mul({inner, rows.normal})}, over_row)});
    if (centre) inner = b.sub({inner, b.mean({inner}, over_row)});
    g.give(0, b.cast_to(b.mul({rows.scale, b.sub({inner, along})}), dtype));
  }
  if (g.wants(1)) {
    Value product = b.sum_to(b.mul({grad, rows.normal}), g.shape(1));
    g.give(1, b.cast_to(product, dtype));
  }
}

}  // namespace

void grad_layer_norm(GradScope& g) {
  give_normalised(g, /*centre=*/true);
  g.give(2, g.grad());
}

void grad_rms_norm(GradScope& g) { give_normalised(g, /*centre=*/false); }

namespace {

// [.., 1]: where a loss leaves its row out.
Value ignored_rows(GradScope& g) {
  Value targets = g.operand(1);
  int64_t index = g.node.attrs.integer("ignore_index");
  Value ignored = g.b.eq({targets, integer_scalar(g.b, index, g.b.type(targets).dtype)});
  return add_last_axis(g.b, ignored);
}

// [.., V]: an ignored target outside the classes has a row of zeros.
Value target_one_hot(GradScope& g) {
  Attrs attrs{{"depth", g.shape(0).back()}, {"dtype", g.b.type(g.operand(0)).dtype}};
  return g.b.one_hot({g.operand(1)}, attrs);
}

// Gives the logits slope * the loss's gradient, and 0 in ignored rows whatever is in them.
void give_logits(GradScope& g, Value slope) {
  Value grad = g.b.mul({slope, add_last_axis(g.b, g.grad())});
  g.give(0, g.b.select({ignored_rows(g), g.b.like(0, grad), grad}));
}

}  // namespace

void grad_cross_entropy(GradScope& g) {
  Emitter& b = g.b;
  Value logits = g.operand(0);
  double smoothing = g.node.attrs.real("label_smoothing");
  Value weights = target_one_hot(g);
  if (smoothing != 0) {
    Value rest = divide_by_sizes(b, b.like(smoothing, logits), {g.shape(0).back()});
    weights = b.add({b.mul({weights, b.like(1 - smoothing, logits)}), rest});
  }
  give_logits(g, b.sub({b.softmax({logits}), weights}));
}

// With q = 1 - p, the loss -q^gamma log p has the derivative -(q^gamma - gamma p q^(gamma-1) log p)
// by log p, and log p has (one_hot - softmax) by the logits.
void grad_focal(GradScope& g) {
  Emitter& b = g.b;
  Value logits = g.operand(0);
  Value zero = b.like(0, logits);
  Value one = b.like(1, logits);
  double gamma = g.node.attrs.real("gamma");
  Attrs over_row = keep_axis(last_axis(g.shape(0)));

  Value one_hot = target_one_hot(g);
  Value picked = b.select({b.eq({one_hot, zero}), zero, b.log_softmax({logits})});
  Value log_p = b.sum({picked}, over_row);
  Value p = b.exp({log_p});
  Value q = b.sub({one, p});
  Value slope = b.pow({q, b.like(gamma, logits)});
  if (gamma != 0) {
    // At p = 0 and p = 1 the second part tends to 0, but is NaN as written.
    Value at_end = b.logical_or({b.le({p, zero}), b.le({q, zero})});
    Value inner_q = b.select({at_end, one, q});
    Value entropy = b.mul({b.select({at_end, zero, log_p}), b.mul({p, b.like(gamma, p)})});
    slope = b.sub({slope, b.mul({entropy, b.pow({inner_q, b.like(gamma - 1, p)})})});
  }
  give_logits(g, b.mul({slope, b.sub({b.softmax({logits}), one_hot})}));
}

void grad_mse(GradScope& g) {
  Emitter& b = g.b;
  Value twice = b.mul({g.grad(), b.like(2, g.grad())});
  Value scale = divide_by_sizes(b, twice, g.shape(0));
  Value grad = b.mul({b.sub({g.operand(0), g.operand(1)}), scale});
  g.give(0, grad);
  if (g.wants(1)) g.give(1, b.neg({grad}));
}

}  // namespace weft
