// Gradient rules: grad_<rule> for each rule named in the op table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/emit.h"

namespace weft {

// What a gradient rule sees: a copy of the forward node, the gradients of its results, and where to
// put the gradients of its operands.
class GradScope {
 public:
  GradScope(Emitter& emitter, uint32_t node_index, std::vector<std::optional<Value>> result_grads,
            std::vector<bool> wanted);

  Emitter& b;
  const Node node;  // a copy: emitting may move the graph's nodes

  Value operand(size_t i = 0) const { return node.operands[i]; }
  Value result(uint32_t i = 0) const { return {index_, i}; }
  const Shape& shape(size_t operand) const { return b.shape(node.operands[operand]); }
  Value grad(size_t result = 0);  // zeros if nothing flows into that result
  bool has_grad(size_t result) const { return result_grads_[result].has_value(); }
  bool wants(size_t operand) const { return wanted_[operand]; }
  // Contributes to an operand's gradient; sums over what broadcasting stretched. Ignored if the
  // operand is not wanted.
  void give(size_t operand, Value gradient);

  const std::vector<std::optional<Value>>& given() const { return operand_grads_; }

 private:
  uint32_t index_;
  std::vector<std::optional<Value>> result_grads_;
  std::vector<bool> wanted_;
  std::vector<std::optional<Value>> operand_grads_;
};

using GradFn = void (*)(GradScope& g);
// Null for `zero` and `none` (see OpInfo::gradient).
GradFn gradient_rule(Op op);

}  // namespace weft
