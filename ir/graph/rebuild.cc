// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/rebuild.h"

#include <algorithm>

#include "ir/graph/live.h"
#include "ir/support/check.h"

namespace weft {

Graph rebuild(const Module& module, const Graph& graph, const RebuildFn& fn) {
  Graph result(graph.name());
  result.loc = graph.loc;
  Emitter b(module, result);
  std::vector<bool> live = live_nodes(graph);
  for (Value input : graph.inputs()) live[input.node] = true;
  std::vector<std::vector<Value>> mapped(graph.nodes().size());

  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph[i];
    if (node.op == Op::input) {
      mapped[i] = {result.add_input(node.attrs.text("name"), node.types[0], node.loc)};
      continue;
    }
    if (node.op == Op::param) {
      mapped[i] = {result.read_param(node.attrs.text("name"), node.types[0], node.loc)};
      continue;
    }
    std::vector<Value> operands;
    for (Value operand : node.operands) operands.push_back(mapped[operand.node][operand.result]);
    b.set_origin(node.origin, node.loc);
    std::optional<std::vector<Value>> replaced = fn(b, node, operands);
    if (!replaced) {
      Node copy = node;
      copy.operands = std::move(operands);
      uint32_t index = b.emit_node(std::move(copy));
      replaced.emplace();
      for (uint32_t r = 0; r < node.types.size(); ++r) replaced->push_back({index, r});
    }
    WEFT_CHECK(replaced->size() == node.types.size(), "a rebuilt node keeps its number of results");
    for (size_t r = 0; r < node.names.size(); ++r) {
      Value value = (*replaced)[r];
      const Node& target = result.node(value);
      bool nameable = target.op != Op::param && target.names[value.result].empty();
      if (!node.names[r].empty() && nameable) result.set_value_name(value, node.names[r]);
    }
    mapped[i] = std::move(*replaced);
  }
  for (const Output& output : graph.outputs) {
    result.outputs.push_back(
        {output.name, mapped[output.value.node][output.value.result], output.loc});
  }
  for (const Update& update : graph.updates) {
    result.updates.push_back(
        {update.target, mapped[update.value.node][update.value.result], update.loc});
  }
  return result;
}

namespace {

// Everything but the names of the graph and of its outputs.
bool same_contents(const Graph& a, const Graph& b) {
  auto same_inside = [](const Node& x, const Node& y) {
    return x.body == y.body || (x.body && y.body && same_contents(*x.body, *y.body));
  };
  auto same_node = [&](const Node& x, const Node& y) {
    return x.op == y.op && x.operands == y.operands && x.attrs == y.attrs && x.types == y.types &&
           x.names == y.names && x.origin == y.origin && x.instance == y.instance &&
           same_inside(x, y);
  };
  auto same_output = [](const Output& x, const Output& y) { return x.value == y.value; };
  auto same_update = [](const Update& x, const Update& y) {
    return x.target == y.target && x.value == y.value;
  };
  return std::ranges::equal(a.nodes(), b.nodes(), same_node) &&
         std::ranges::equal(a.outputs, b.outputs, same_output) &&
         std::ranges::equal(a.updates, b.updates, same_update);
}

}  // namespace

bool same_graph(const Graph& a, const Graph& b) {
  auto same_name = [](const Output& x, const Output& y) { return x.name == y.name; };
  return a.name() == b.name() && std::ranges::equal(a.outputs, b.outputs, same_name) &&
         same_contents(a, b);
}

}  // namespace weft
