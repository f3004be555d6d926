// Rules of `simplify` that give operands one order, so that a + b and b + a are one node.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

std::vector<Op> commutative_ops() {
  std::vector<Op> ops;
  for (const OpInfo& op : all_ops()) {
    if (op.has(kCommutative)) ops.push_back(op.op);
  }
  return ops;
}

// A constant, or what `fold-constant` is about to make one.
bool is_constant(const Graph& graph, const Node& node) {
  auto constant_operand = [&](Value value) { return graph.node(value).op == Op::constant; };
  return node.op == Op::constant ||
         (!node.operands.empty() && std::ranges::all_of(node.operands, constant_operand));
}

// First what is computed, then inputs, parameters and constants; each in order of definition.
std::optional<Value> order_operands(Match& m) {
  auto place = [&](Value value) {
    const Node& node = m.out.graph().node(value);
    int kind = node.op == Op::input ? 1 : node.op == Op::param ? 2 : 0;
    return std::pair(is_constant(m.out.graph(), node) ? 3 : kind, value);
  };
  const std::vector<Value>& operands = m.root.operands;
  if (place(operands[0]) <= place(operands[1])) return std::nullopt;
  return m.emit(m.root.op, {operands[1], operands[0]});
}

}  // namespace

std::span<const Rule> order_rules() {
  static const std::vector<Rule> kRules = {
      {"operand-order", any_of(commutative_ops(), {x, y}), order_operands, kSignedZero,
       "of 0 and -0, minimum and maximum give one or the other"},
      {"gt-to-lt", gt(x, y), build(lt(y, x))},
      {"ge-to-le", ge(x, y), build(le(y, x))},
  };
  return kRules;
}

}  // namespace weft
