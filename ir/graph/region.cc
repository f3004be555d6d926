// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/region.h"

#include <algorithm>

#include "ir/support/check.h"

namespace weft {
namespace {

bool same_node(const Node& a, const Node& b) {
  if (a.op != b.op || a.operands != b.operands || a.types != b.types) return false;
  if (a.op == Op::input) return true;  // its name is its own business
  if (a.instance != b.instance || !(a.attrs == b.attrs)) return false;
  return a.body == nullptr || same_body(*a.body, *b.body);
}

}  // namespace

Type body_input_type(Op op, const Attrs& attrs, size_t index, const Type& operand) {
  if (op != Op::chunked || operand.rank() == 0) return operand;
  const AttrValue* sliced = attrs.find("sliced_in");
  const AttrValue* symbol = attrs.find("symbol");
  if (sliced == nullptr || symbol == nullptr) return operand;
  const auto& flags = std::get<std::vector<int64_t>>(*sliced);
  if (index >= flags.size() || flags[index] == 0) return operand;
  Type type = operand;
  type.shape[0] = Dim::symbol(std::get<std::string>(*symbol));
  return type;
}

bool same_body(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  auto same_output = [](const Output& x, const Output& y) { return x.value == y.value; };
  return a.inputs() == b.inputs() && std::ranges::equal(a.nodes(), b.nodes(), same_node) &&
         std::ranges::equal(a.outputs, b.outputs, same_output);
}

size_t hash_body(const Graph& body) {
  size_t hash = body.outputs.size();
  for (const Node& node : body.nodes()) {
    hash = hash * 1000003 + static_cast<size_t>(node.op);
    for (Value operand : node.operands) hash = hash * 31 + operand.node * 8 + operand.result;
  }
  return hash;
}

std::vector<Value> inline_region(Emitter& b, const Node& node, const std::vector<Value>& operands) {
  WEFT_CHECK(node.op == Op::region, "only a region can be inlined");
  const Graph& body = *node.body;
  std::vector<std::vector<Value>> mapped(body.nodes().size());
  for (size_t i = 0; i < operands.size(); ++i) mapped[body.inputs()[i].node] = {operands[i]};
  for (uint32_t i = 0; i < body.nodes().size(); ++i) {
    if (body[i].op == Op::input) continue;
    Node copy = body[i];
    for (Value& operand : copy.operands) operand = mapped[operand.node][operand.result];
    copy.names.clear();  // they may be taken
    if (copy.origin.empty() && copy.op != Op::constant) copy.origin = node.origin;
    if (copy.instance == 0) copy.instance = node.instance;
    if (!copy.loc.known()) copy.loc = node.loc;
    uint32_t index = b.emit_node(std::move(copy));
    for (uint32_t r = 0; r < body[i].types.size(); ++r) mapped[i].push_back({index, r});
  }
  std::vector<Value> results;
  for (const Output& output : body.outputs) {
    results.push_back(mapped[output.value.node][output.value.result]);
  }
  return results;
}

}  // namespace weft
