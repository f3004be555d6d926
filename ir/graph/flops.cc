// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/flops.h"

namespace weft {
namespace {

// Nodes that an output or an update depends on.
std::vector<bool> find_live(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs) live[output.value.node] = true;
  for (const Update& update : graph.updates) live[update.value.node] = true;
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (Value operand : graph[static_cast<uint32_t>(i)].operands) live[operand.node] = true;
  }
  return live;
}

// The computing ops that have no trait which says so.
bool sums_what_it_reads(const Node& node) {
  switch (node.op) {
    case Op::cumsum:
    case Op::global_norm:
    case Op::scatter_add:
    case Op::add_along_axis:
    case Op::fold_patches:
    case Op::mse: return true;
    default: break;
  }
  const OpInfo& op = info(node.op);
  return op.has(kReduction) || op.has(kRow) || op.has(kOptimizer);
}

// As a dim, so that overflow is found in one place, when it is evaluated.
Dim flops_of(const Graph& graph, const Node& node) {
  if (node.op == Op::matmul) {
    return 2 * graph.type(node.operands[0]).shape.back() * element_count(node.types[0].shape);
  }
  Dim count;
  if (info(node.op).has(kElementwise)) {
    for (const Type& type : node.types) count = count + element_count(type.shape);
  } else if (sums_what_it_reads(node)) {
    for (Value operand : node.operands) count = count + element_count(graph.type(operand).shape);
  }
  return count;
}

}  // namespace

Result<int64_t> count_flops(const Module& module, const Graph& graph, const DimBinding& dims) {
  std::vector<bool> live = find_live(graph);
  int64_t total = 0;
  for (uint32_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph[i];
    Dim count = module.dims.canonical(flops_of(graph, node));
    std::set<std::string> symbols;
    count.collect_symbols(symbols);
    for (const std::string& symbol : symbols) {
      if (dims.contains(symbol)) continue;
      return error(node.loc, "graph @", graph.name(), ": the size of ", symbol, " is not known")
          .hint("give it with --dim " + symbol + "=8");
    }
    std::optional<int64_t> value = count.evaluate(dims);
    if (!value || __builtin_add_overflow(total, *value, &total)) {
      return error(node.loc, "graph @", graph.name(), ": more operations than 63 bits can count");
    }
  }
  return total;
}

}  // namespace weft
