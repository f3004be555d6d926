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

// Whether regions of kind attention stay as they are: kernels of their own run them.
bool is_kept(const Node& node, bool keep_attention) {
  return keep_attention && fused_attention(node) != nullptr;
}

bool has_composite(const Graph& graph, bool keep_attention) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    if (is_kept(node, keep_attention)) return false;
    return decomposition(node.op) != nullptr ||
           (node.body != nullptr && has_composite(*node.body, keep_attention));
  });
}

Graph decomposed(const Module& module, const Graph& graph, bool keep_attention) {
  auto replace = [&](Emitter& b, const Node& node,
                     const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    if (is_kept(node, keep_attention)) return std::nullopt;
    DecomposeFn parts = decomposition(node.op);
    if (parts != nullptr) return parts(b, node, operands);
    if (node.body == nullptr || !has_composite(*node.body, keep_attention)) return std::nullopt;
    Node copy = node;
    copy.operands = operands;
    copy.body = std::make_shared<const Graph>(decomposed(module, *node.body, keep_attention));
    uint32_t index = b.emit_node(std::move(copy));
    std::vector<Value> results;
    for (uint32_t r = 0; r < node.types.size(); ++r) results.push_back({index, r});
    return results;
  };
  return rebuild(module, graph, replace);
}

}  // namespace

Result<bool> decompose(Module& module, const PassOptions& options) {
  bool changed = false;
  for (Graph& graph : module.graphs) {
    // A composite may consist of others, never of itself: each round brings it closer to
    // primitives.
    while (has_composite(graph, options.fuse_attention)) {
      graph = decomposed(module, graph, options.fuse_attention);
      changed = true;
    }
  }
  return changed;
}

}  // namespace weft
