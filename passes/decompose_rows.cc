// Decompositions of reductions, row ops and losses.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "passes/decompose_rules.h"
#include "passes/formulas.h"
#include "passes/sizes.h"

namespace weft {

using Operands = std::vector<Value>;

Operands decompose_mean(Emitter& b, const Node& node, const Operands& operands) {
  Value total = b.sum({operands[0]}, node.attrs);
  Shape sizes = sizes_along(b.shape(operands[0]), node.attrs.ints("axes"));
  return {divide_by_sizes(b, total, sizes)};
}

Operands decompose_global_norm(Emitter& b, const Node& node, const Operands& operands) {
  Value total = b.zeros(node.types[0]);
  for (Value in : operands) {
    Value squares = b.sum({b.mul({in, in})}, {{"axes", all_axes(b.shape(in))}});
    total = b.add({total, b.cast_to(squares, node.types[0].dtype)});
  }
  return {b.sqrt({total})};
}

Operands decompose_softmax(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Value zero = b.like(0, in);
  Attrs over_row = keep_axis(node.attrs.integer("axis"));
  // A row masked everywhere has -inf as its largest element; -inf - (-inf) would be NaN.
  Value largest = b.max({in}, over_row);
  Value masked = b.eq({largest, b.like(-std::numeric_limits<double>::infinity(), in)});
  Value powers = b.exp({b.sub({in, b.select({masked, zero, largest})})});
  Value total = b.sum({powers}, over_row);
  // One division a row: the total is at least 1, so its inverse loses nothing but a rounding.
  Value one = b.like(1, in);
  return {b.mul({powers, b.div({one, b.select({masked, one, total})})})};
}

namespace {

struct LogSum {
  Value centre;   // [.., 1, ..]: the largest element, 0 if it is not finite
  Value shifted;  // in - centre
  Value total;    // [.., 1, ..]: sum of exp(shifted)
};

LogSum log_sum(Emitter& b, Value in, int64_t axis) {
  Attrs over_row = keep_axis(axis);
  LogSum sum;
  Value largest = b.max({in}, over_row);
  sum.centre = b.select({b.is_finite({largest}), largest, b.like(0, in)});
  sum.shifted = b.sub({in, sum.centre});
  sum.total = b.sum({b.exp({sum.shifted})}, over_row);
  return sum;
}

}  // namespace

Operands decompose_log_softmax(Emitter& b, const Node& node, const Operands& operands) {
  LogSum sum = log_sum(b, operands[0], node.attrs.integer("axis"));
  // A row masked everywhere has nothing to take the logarithm of, and stays -inf.
  Value zero = b.like(0, sum.total);
  Value log = b.select({b.eq({sum.total, zero}), zero, b.log({sum.total})});
  return {b.sub({sum.shifted, log})};
}

Operands decompose_logsumexp(Emitter& b, const Node& node, const Operands& operands) {
  LogSum sum = log_sum(b, operands[0], node.attrs.integer("axis"));
  return {b.reshape_to(b.add({b.log({sum.total}), sum.centre}), node.types[0].shape)};
}

Operands decompose_layer_norm(Emitter& b, const Node& node, const Operands& operands) {
  NormalRows rows = normalise_rows(b, operands[0], node.attrs.real("eps"), /*centre=*/true);
  Value scaled = b.mul({rows.normal, widen(b, operands[1])});
  return {b.cast_to(b.add({scaled, widen(b, operands[2])}), node.types[0].dtype)};
}

Operands decompose_rms_norm(Emitter& b, const Node& node, const Operands& operands) {
  NormalRows rows = normalise_rows(b, operands[0], node.attrs.real("eps"), /*centre=*/false);
  return {b.cast_to(b.mul({rows.normal, widen(b, operands[1])}), node.types[0].dtype)};
}

namespace {

struct RowLoss {
  Value log_p;    // [.., V]
  Value picked;   // [..]: log_p of the target; of class 0 where the target is ignored
  Value ignored;  // [..]
};

RowLoss row_loss(Emitter& b, const Node& node, const Operands& operands) {
  Value logits = operands[0];
  Value targets = operands[1];
  DType dtype = b.type(targets).dtype;
  RowLoss loss;
  loss.ignored = b.eq({targets, integer_scalar(b, node.attrs.integer("ignore_index"), dtype)});
  loss.log_p = b.log_softmax({logits});
  // Any other target outside the classes is an error here, as it is in the loss.
  Value index = b.select({loss.ignored, b.scalar(0, dtype), targets});
  auto last = last_axis(b.shape(logits));
  Value taken = b.take_along_axis({loss.log_p, add_last_axis(b, index)}, {{"axis", last}});
  loss.picked = b.reshape_to(taken, b.shape(targets));
  return loss;
}

}  // namespace

Operands decompose_cross_entropy(Emitter& b, const Node& node, const Operands& operands) {
  RowLoss rows = row_loss(b, node, operands);
  double smoothing = node.attrs.real("label_smoothing");
  Value likelihood = rows.picked;
  if (smoothing != 0) {
    auto last = last_axis(b.shape(rows.log_p));
    Value mean = b.mean({rows.log_p}, {{"axes", std::vector<int64_t>{last}}});
    Value sharp = b.mul({likelihood, b.like(1 - smoothing, likelihood)});
    likelihood = b.add({sharp, b.mul({mean, b.like(smoothing, mean)})});
  }
  return {b.select({rows.ignored, b.like(0, likelihood), b.neg({likelihood})})};
}

Operands decompose_focal(Emitter& b, const Node& node, const Operands& operands) {
  RowLoss rows = row_loss(b, node, operands);
  Value log_p = rows.picked;
  Value distance = b.sub({b.like(1, log_p), b.exp({log_p})});
  Value weight = b.pow({distance, b.like(node.attrs.real("gamma"), log_p)});
  Value loss = b.neg({b.mul({weight, log_p})});
  return {b.select({rows.ignored, b.like(0, loss), loss})};
}

Operands decompose_mse(Emitter& b, const Node&, const Operands& operands) {
  Value difference = b.sub({operands[0], operands[1]});
  Value square = b.mul({difference, difference});
  return {b.mean({square}, {{"axes", all_axes(b.shape(square))}})};
}

}  // namespace weft
