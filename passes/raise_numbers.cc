// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_numbers.h"

#include <cmath>

namespace weft {

std::optional<double> one_number(const Graph& graph, Value value) {
  const Node& node = graph.node(value);
  if (node.op == Op::constant) {
    const Numbers& numbers = node.attrs.numbers("value");
    if (numbers.size() != 1) return std::nullopt;
    return std::visit([](const auto& v) { return static_cast<double>(v[0]); }, numbers.values);
  }
  std::vector<double> in;
  for (Value operand : node.operands) {
    std::optional<double> number = one_number(graph, operand);
    if (!number) return std::nullopt;
    in.push_back(*number);
  }
  if (in.empty()) return std::nullopt;
  switch (node.op) {
    case Op::sqrt: return std::sqrt(in[0]);
    case Op::rsqrt: return 1 / std::sqrt(in[0]);
    case Op::pow: return std::pow(in[0], in[1]);
    case Op::mul: return in[0] * in[1];
    case Op::div: return in[0] / in[1];
    case Op::neg: return -in[0];
    case Op::cast: return round_to(node.types[0].dtype, in[0]);
    case Op::reshape:
    case Op::broadcast: return in[0];
    default: return std::nullopt;
  }
}

std::optional<Predicate> as_predicate(const Graph& graph, Value number) {
  const Node& node = graph.node(number);
  if (node.op == Op::cast && graph.type(node.operands[0]).dtype == DType::boolean) {
    return Predicate{node.operands[0], false};
  }
  if (node.op != Op::sub || one_number(graph, node.operands[0]) != 1.0) return std::nullopt;
  std::optional<Predicate> inner = as_predicate(graph, node.operands[1]);
  if (inner) inner->negated = !inner->negated;
  return inner;
}

}  // namespace weft
