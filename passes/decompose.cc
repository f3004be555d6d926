// SPDX-License-Identifier: Apache-2.0
#include "passes/decompose.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "passes/decompose_rules.h"
#include "passes/fuse_attention.h"
#include "passes/pass.h"

namespace weft {

DecomposeFn decomposition(Op op) {
  static constexpr DecomposeFn kDecompositions[] = {
#define OP(name, operands, attrs, results, dtypes, rule, gradient, decomposition, ...) \
  decompose_##decomposition,
#include "ir/graph/ops.def"
#undef OP
  };
  return kDecompositions[static_cast<size_t>(op)];
}

namespace {

bool has_composite(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    if (fused_attention(node) != nullptr) return false;
    return decomposition(node.op) != nullptr || (node.body != nullptr && has_composite(*node.body));
  });
}

std::optional<std::vector<Value>> decompose_node(Emitter& b, const Node& node,
                                                 const std::vector<Value>& operands) {
  if (fused_attention(node) != nullptr) return std::nullopt;
  DecomposeFn parts = decomposition(node.op);
  if (parts != nullptr) return parts(b, node, operands);
  if (node.body == nullptr || !has_composite(*node.body)) return std::nullopt;
  Node copy = node;
  copy.operands = operands;
  copy.body = std::make_shared<const Graph>(rebuild(b.module(), *node.body, decompose_node));
  uint32_t index = b.emit_node(std::move(copy));
  std::vector<Value> results;
  for (uint32_t r = 0; r < node.types.size(); ++r) results.push_back({index, r});
  return results;
}

}  // namespace

Result<bool> decompose(Module& module, const PassOptions&) {
  bool changed = false;
  for (Graph& graph : module.graphs) {
    // A composite may consist of others, never of itself: each round brings it closer to
    // primitives.
    while (has_composite(graph)) {
      graph = rebuild(module, graph, decompose_node);
      changed = true;
    }
  }
  return changed;
}

}  // namespace weft
