// Decompositions of elementwise composites, and of dropout.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <numbers>

#include "passes/decompose_rules.h"
#include "passes/formulas.h"

namespace weft {

using Operands = std::vector<Value>;

Operands decompose_clamp(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  Value raised = b.maximum({in, b.like(node.attrs.real("min"), in)});
  return {b.minimum({raised, b.like(node.attrs.real("max"), in)})};
}

Operands decompose_sign(Emitter& b, const Node&, const Operands& operands) {
  Value in = operands[0];
  Value zero = b.like(0, in);
  // Neither below nor above 0 are 0, -0 and NaN: |in| is 0, 0 and NaN.
  Value rest = b.select({b.lt({zero, in}), b.like(1, in), b.abs({in})});
  return {b.select({b.lt({in, zero}), b.like(-1, in), rest})};
}

Operands decompose_ceil(Emitter& b, const Node&, const Operands& operands) {
  return {b.neg({b.floor({b.neg({operands[0]})})})};
}

Operands decompose_sigmoid(Emitter& b, const Node&, const Operands& operands) {
  Value one = b.like(1, operands[0]);
  return {b.div({one, b.add({one, b.exp({b.neg({operands[0]})})})})};
}

Operands decompose_softplus(Emitter& b, const Node&, const Operands& operands) {
  Value in = operands[0];
  Value tail = b.exp({b.neg({b.abs({in})})});
  return {b.add({b.maximum({in, b.like(0, in)}), b.log({b.add({b.like(1, in), tail})})})};
}

Operands decompose_relu(Emitter& b, const Node&, const Operands& operands) {
  return {b.maximum({operands[0], b.like(0, operands[0])})};
}

namespace {

// x * sigmoid(y), by one division.
Value by_sigmoid(Emitter& b, Value x, Value y) {
  return b.div({x, b.add({b.like(1, y), b.exp({b.neg({y})})})});
}

}  // namespace

Operands decompose_gelu(Emitter& b, const Node& node, const Operands& operands) {
  Value x = operands[0];
  if (node.attrs.text("approximate") == "tanh") return {by_sigmoid(b, x, gelu_bend(b, x))};
  Value curve = b.erf({b.mul({x, b.like(std::numbers::sqrt2 / 2, x)})});
  return {b.mul({b.mul({b.like(0.5, x), x}), b.add({b.like(1, x), curve})})};
}

Operands decompose_silu(Emitter& b, const Node&, const Operands& operands) {
  return {by_sigmoid(b, operands[0], operands[0])};
}

Operands decompose_gt(Emitter& b, const Node&, const Operands& operands) {
  return {b.lt({operands[1], operands[0]})};
}

Operands decompose_ge(Emitter& b, const Node&, const Operands& operands) {
  return {b.le({operands[1], operands[0]})};
}

Operands decompose_logical_xor(Emitter& b, const Node&, const Operands& operands) {
  return {b.ne({operands[0], operands[1]})};
}

Operands decompose_is_finite(Emitter& b, const Node&, const Operands& operands) {
  Value infinity = b.like(std::numeric_limits<double>::infinity(), operands[0]);
  return {b.lt({b.abs({operands[0]}), infinity})};
}

Operands decompose_dropout(Emitter& b, const Node& node, const Operands& operands) {
  Value in = operands[0];
  double rate = node.attrs.real("rate");
  if (rate == 0) return {in};
  Attrs attrs{{"shape", b.shape(in)}, {"stream", node.attrs.integer("stream")}};
  Value bits = b.random_bits({operands[1]}, attrs);
  // bits < rate * 2^32, with the last number below that: the bound itself may be 2^32.
  Value last_dropped = b.like(std::ceil(std::ldexp(rate, 32)) - 1, bits);
  Value kept = b.div({in, b.like(1 - rate, in)});
  return {b.select({b.le({bits, last_dropped}), b.like(0, in), kept})};
}

}  // namespace weft
