// The gradient of attention: an op of its own, which computes the weights again from the row sums.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/attention.h"
#include "passes/formulas.h"
#include "passes/gradient_rules.h"

namespace weft {

// A score's gradient is p * (dp - delta + d_lse), where delta is the sum of p * dp along the row,
// which is that of out * d_out: both row terms go as one.
void grad_attention(GradScope& g) {
  Emitter& b = g.b;
  Value flow = b.mul({widen(b, g.result(0)), widen(b, g.grad(0))});
  Value delta = b.sum({flow}, {{"axes", std::vector<int64_t>{last_axis(b.shape(flow))}}});
  if (g.has_grad(1)) delta = b.sub({delta, g.grad(1)});
  std::vector<Value> operands(g.node.operands.begin(), g.node.operands.begin() + 3);
  operands.insert(operands.end(), {g.result(1), delta, g.grad(0)});
  operands.insert(operands.end(), g.node.operands.begin() + 3, g.node.operands.end());
  AttentionExtras extras = attention_extras(b.graph(), g.node.op, g.node.operands);
  uint32_t grads = b.emit(Op::attention_grad, std::move(operands), g.node.attrs).node;
  for (uint32_t i = 0; i < 3; ++i) g.give(i, {grads, i});
  if (extras.bias) g.give(*extras.bias, {grads, 3});
}

}  // namespace weft
