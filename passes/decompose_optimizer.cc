// Decompositions of optimizer steps.
// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose_rules.h"
#include "passes/formulas.h"

namespace weft {

using Operands = std::vector<Value>;

namespace {

Value scaled(Emitter& b, double factor, Value value) {
  return b.mul({b.like(factor, value), value});
}

// A step is computed with widened operands, and its results are rounded to the parameter's type.
// The step counter is an integer and stays as it is.
Operands widened(Emitter& b, const Operands& operands) {
  Operands wide;
  for (Value operand : operands) wide.push_back(widen(b, operand));
  return wide;
}

Operands narrowed(Emitter& b, const Node& node, Operands results) {
  for (Value& result : results) result = b.cast_to(result, node.types[0].dtype);
  return results;
}

struct Moments {
  Value m;
  Value v;
  Value step;  // what lr multiplies: corrected m over the root of corrected v
};

// old / (1 - beta^step): moments begin at 0, this undoes the bias.
Value unbiased(Emitter& b, Value moment, double beta, Value step) {
  Value decayed = b.pow({b.like(beta, moment), b.cast_to(step, b.type(moment).dtype)});
  return b.div({moment, b.sub({b.like(1, moment), decayed})});
}

Moments advance(Emitter& b, const Node& node, const Operands& operands, Value grad) {
  double beta1 = node.attrs.real("beta1");
  double beta2 = node.attrs.real("beta2");
  Moments next;
  next.m = b.add({scaled(b, beta1, operands[2]), scaled(b, 1 - beta1, grad)});
  next.v = b.add({scaled(b, beta2, operands[3]), scaled(b, 1 - beta2, b.mul({grad, grad}))});
  Value root = b.sqrt({unbiased(b, next.v, beta2, operands[5])});
  Value divisor = b.add({root, b.like(node.attrs.real("eps"), root)});
  next.step = b.div({unbiased(b, next.m, beta1, operands[5]), divisor});
  return next;
}

}  // namespace

Operands decompose_sgd(Emitter& b, const Node& node, const Operands& narrow) {
  Operands operands = widened(b, narrow);
  Value param = operands[0];
  Value grad = b.add({operands[1], scaled(b, node.attrs.real("weight_decay"), param)});
  Value velocity = b.add({scaled(b, node.attrs.real("momentum"), operands[2]), grad});
  Value moved = b.sub({param, b.mul({operands[3], velocity})});
  return narrowed(b, node, {moved, velocity});
}

Operands decompose_adam(Emitter& b, const Node& node, const Operands& narrow) {
  Operands operands = widened(b, narrow);
  Value param = operands[0];
  Value grad = b.add({operands[1], scaled(b, node.attrs.real("weight_decay"), param)});
  Moments next = advance(b, node, operands, grad);
  Value moved = b.sub({param, b.mul({operands[4], next.step})});
  return narrowed(b, node, {moved, next.m, next.v});
}

Operands decompose_adamw(Emitter& b, const Node& node, const Operands& narrow) {
  Operands operands = widened(b, narrow);
  Value param = operands[0];
  Moments next = advance(b, node, operands, operands[1]);
  Value decay = scaled(b, node.attrs.real("weight_decay"), param);
  Value moved = b.mul({operands[4], b.add({next.step, decay})});
  return narrowed(b, node, {b.sub({param, moved}), next.m, next.v});
}

}  // namespace weft
