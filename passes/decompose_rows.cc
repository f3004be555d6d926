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

namespace {

// What softmax, its logarithm and logsumexp share, in one spelling: where a loss and its gradient
// need two of them, a row's powers are computed once.
struct RowPowers {
  Value largest;  // [.., 1, ..]
  Value masked;   // [.., 1, ..]: every element is -inf
  Value shifted;  // in - largest; in itself where masked, as -inf - (-inf) would be NaN
  Value powers;   // exp(shifted)
  Value total;    // [.., 1, ..]: their sum
};

RowPowers row_powers(Emitter& b, Value in, int64_t axis) {
  const Attrs over_row = keep_axis(axis);
  RowPowers row;
  row.largest = b.max({in}, over_row);
  row.masked = b.eq({row.largest, b.like(-std::numeric_limits<double>::infinity(), in)});
  row.shifted = b.sub({in, b.select({row.masked, b.like(0, in), row.largest})});
  row.powers = b.exp({row.shifted});
  row.total = b.sum({row.powers}, over_row);
  return row;
}

}  // namespace

Operands decompose_softmax(Emitter& b, const Node& node, const Operands& operands) {
  RowPowers row = row_powers(b, operands[0], node.attrs.integer("axis"));
  // One division a row: the total is at least 1, so its inverse loses nothing but a rounding.
  Value one = b.like(1, row.total);
  return {b.mul({row.powers, b.div({one, b.select({row.masked, one, row.total})})})};
}

Operands decompose_log_softmax(Emitter& b, const Node& node, const Operands& operands) {
  RowPowers row = row_powers(b, operands[0], node.attrs.integer("axis"));
  // A row masked everywhere has nothing to take the logarithm of, and stays -inf.
  Value finite = b.is_finite({row.largest});
  return {b.sub({row.shifted, b.select({finite, b.log({row.total}), b.like(0, row.total)})})};
}

Operands decompose_logsumexp(Emitter& b, const Node& node, const Operands& operands) {
  RowPowers row = row_powers(b, operands[0], node.attrs.integer("axis"));
  Value sum = b.add({b.log({row.total}), row.largest});
  sum = b.select({b.is_finite({row.largest}), sum, row.largest});
  return {b.reshape_to(sum, node.types[0].shape)};
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
