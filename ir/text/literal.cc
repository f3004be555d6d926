// SPDX-License-Identifier: Apache-2.0
#include "ir/text/literal.h"

namespace weft {
namespace {

std::string format_element(const Numbers& numbers, size_t i, DType dtype) {
  if (numbers.real()) return format_number(std::get<0>(numbers.values)[i], dtype);
  int64_t value = std::get<1>(numbers.values)[i];
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

}  // namespace

std::vector<bool> literal_nodes(const Graph& graph) {
  std::vector<bool> literal(graph.nodes().size(), false);
  for (const Node& node : graph.nodes()) {
    for (Value operand : node.operands) {
      const Node& used = graph.node(operand);
      literal[operand.node] = used.op == Op::constant && used.types[0].rank() == 0 &&
                              used.names[0].empty() && used.origin.empty() && used.instance == 0;
    }
  }
  for (const Output& output : graph.outputs) literal[output.value.node] = false;
  for (const Update& update : graph.updates) literal[update.value.node] = false;
  return literal;
}

std::optional<DType> bare_literal_dtype(std::span<const std::optional<DType>> operands) {
  for (const std::optional<DType>& dtype : operands) {
    if (dtype && *dtype != DType::boolean) return dtype;
  }
  return std::nullopt;
}

std::string bare_literal(const Node& constant) {
  return format_numbers(constant.attrs.numbers("value"), constant.attrs.dtype("dtype"));
}

std::string typed_literal(const Node& constant) {
  DType dtype = constant.attrs.dtype("dtype");
  if (dtype == DType::boolean) return bare_literal(constant);
  return std::string(name(dtype)) + "(" + bare_literal(constant) + ")";
}

std::string format_numbers(const Numbers& numbers, DType dtype) {
  if (numbers.size() == 1) return format_element(numbers, 0, dtype);
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ", ";
    out += format_element(numbers, i, dtype);
  }
  return out + "]";
}

}  // namespace weft
