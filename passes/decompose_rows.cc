// Decompositions of reductions, row ops and losses.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "passes/decompose_rules.h"
#include "passes/sizes.h"

namespace weft {

using Operands = std::vector<Value>;

namespace {

Attrs keep_axis(int64_t axis) { return {{"axes", std::vector<int64_t>{axis}}, {"keepdims", true}}; }

Attrs keep_last_axis(Emitter& b, Value value) {
  return keep_axis(static_cast<int64_t>(b.shape(value).size()) - 1);
}

}  // namespace

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
  return {b.div({powers, b.select({masked, b.like(1, in), total})})};
}

Operands decompose_log_softmax(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Attrs attrs{{"axis", node.attrs.integer("axis")}, {"keepdims", true}};
  Value total = b.logsumexp({in}, attrs);
  Value masked = b.eq({total, b.like(-std::numeric_limits<double>::infinity(), in)});
  return {b.sub({in, b.select({masked, b.like(0, in), total})})};
}

Operands decompose_logsumexp(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Attrs over_row = keep_axis(node.attrs.integer("axis"));
  Value largest = b.max({in}, over_row);
  Value centre = b.select({b.is_finite({largest}), largest, b.like(0, in)});
  Value total = b.sum({b.exp({b.sub({in, centre})})}, over_row);
  return {b.reshape_to(b.add({b.log({total}), centre}), node.types[0].shape)};
}

Operands decompose_layer_norm(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Attrs over_row = keep_last_axis(b, in);
  Value centred = b.sub({in, b.mean({in}, over_row)});
  Value variance = b.mean({b.mul({centred, centred})}, over_row);
  Value scale = b.rsqrt({b.add({variance, b.like(node.attrs.real("eps"), in)})});
  return {b.add({b.mul({b.mul({centred, scale}), operands[1]}), operands[2]})};
}

Operands decompose_rms_norm(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Value square = b.mean({b.mul({in, in})}, keep_last_axis(b, in));
  Value scale = b.rsqrt({b.add({square, b.like(node.attrs.real("eps"), in)})});
  return {b.mul({b.mul({in, scale}), operands[1]})};
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
  auto last = static_cast<int64_t>(b.shape(logits).size()) - 1;
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
    auto last = static_cast<int64_t>(b.shape(rows.log_p).size()) - 1;
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
