// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse.h"

#include "ir/graph/rebuild.h"
#include "passes/fuse_build.h"
#include "passes/fuse_steps.h"
#include "passes/views.h"

namespace weft {
namespace {

// Reshapes of one value that strides cannot express are copies: one of them is enough, the others
// become views of it.
Graph share_copies(const Module& module, const Graph& graph) {
  std::map<Value, Value> copies;
  return rebuild(module, graph,
                 [&](Emitter& b, const Node& node,
                     const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
                   if (node.op != Op::reshape || node.instance != 0) return std::nullopt;
                   auto known = copies.find(operands[0]);
                   if (known != copies.end()) {
                     return {{b.reshape_to(known->second, node.types[0].shape)}};
                   }
                   const Value value = b.reshape({operands[0]}, node.attrs);
                   if (!is_free_view(b.graph(), value, module.dims)) copies[operands[0]] = value;
                   return {{value}};
                 });
}

// What leaves the graph lies in memory without gaps: a view that does not has to be copied. A
// concat of one part is a copy.
Value without_gaps(Emitter& b, Value value) {
  const Node& node = b.graph().node(value);
  const DimFacts& facts = b.module().dims;
  if (!info(node.op).has(kView) || !is_free_view(b.graph(), value, facts)) return value;
  if (is_contiguous(view_of(b.graph(), value, facts), node.types[0].shape, facts)) return value;
  b.set_origin(node.origin, node.loc);
  return b.concat({value}, {{"axis", int64_t{0}}});
}

Graph copy_strided(const Module& module, const Graph& graph) {
  auto settle = [](Emitter& b, const Node& node,
                   const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    if (node.op != Op::chunked) return std::nullopt;
    Node copy = node;
    for (size_t i = 0; i < operands.size(); ++i) copy.operands[i] = without_gaps(b, operands[i]);
    std::vector<Value> results;
    const uint32_t index = b.emit_node(std::move(copy));
    for (uint32_t r = 0; r < node.types.size(); ++r) results.push_back({index, r});
    return results;
  };
  Graph result = rebuild(module, graph, settle);
  Emitter b(module, result);
  for (Output& output : result.outputs) output.value = without_gaps(b, output.value);
  for (Update& update : result.updates) update.value = without_gaps(b, update.value);
  return result;
}

Graph fuse_graph(const Module& module, const Graph& graph) {
  const Graph prepared = copy_strided(module, share_copies(module, graph));
  const FuseGraph source(module, prepared);
  Clusters clusters(source);
  join_products(clusters);
  join_epilogues(clusters);
  join_neighbours(clusters);
  join_readers(clusters);
  return build_fused(module, clusters, find_recomputed(clusters),
                     [&](const Graph& body) { return fuse_graph(module, body); });
}

}  // namespace

Result<bool> fuse(Module& module, const PassOptions&) {
  bool changed = false;
  for (Graph& graph : module.graphs) {
    Graph fused = fuse_graph(module, graph);
    changed = changed || !same_graph(graph, fused);
    graph = std::move(fused);
  }
  return changed;
}

}  // namespace weft
