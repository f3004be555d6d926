// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient.h"

#include "ir/support/check.h"
#include "passes/gradient_rules.h"

namespace weft {

GradScope::GradScope(Emitter& emitter, uint32_t node_index,
                     std::vector<std::optional<Value>> result_grads, std::vector<bool> wanted)
    : b(emitter),
      node(emitter.graph()[node_index]),
      index_(node_index),
      result_grads_(std::move(result_grads)),
      wanted_(std::move(wanted)),
      operand_grads_(wanted_.size()) {}

Value GradScope::grad(size_t result) {
  if (!result_grads_[result]) result_grads_[result] = b.zeros(node.types[result]);
  return *result_grads_[result];
}

void GradScope::give(size_t operand, Value gradient) {
  if (!wanted_[operand]) return;
  const Type type = b.type(node.operands[operand]);
  Value summed = b.sum_to(gradient, type.shape);
  WEFT_CHECK(same_type(b.type(summed), type, b.module().dims),
             "the gradient of an operand of " + std::string(name(node.op)) + " has the type " +
                 b.type(summed).str() + " instead of " + type.str());
  std::optional<Value>& total = operand_grads_[operand];
  total = total ? b.add({*total, summed}) : summed;
}

GradFn gradient_rule(Op op) {
  static constexpr GradFn kRules[] = {
#define OP(name, operands, attrs, results, dtypes, rule, gradient, ...) grad_##gradient,
#include "ir/graph/ops.def"
#undef OP
  };
  return kRules[static_cast<size_t>(op)];
}

}  // namespace weft
