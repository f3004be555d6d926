// Rebuilding a graph node by node: the way a pass changes one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/emit.h"

namespace weft {

// Called for each live node of the old graph, in order. `operands` are the new graph's values of
// node.operands. Returns the new values of its results, or nothing to copy the node.
using RebuildFn = std::function<std::optional<std::vector<Value>>(
    Emitter& b, const Node& node, const std::vector<Value>& operands)>;

// Copies a graph through an Emitter: equal nodes are merged, dead ones dropped (inputs stay, with
// their order), names, provenance, outputs and updates kept. A name follows its value: if `fn`
// replaced a named node by an unnamed one, the new node takes the name over.
Graph rebuild(const Module& module, const Graph& graph, const RebuildFn& fn);
inline Graph rebuild(const Module& module, const Graph& graph) {
  return rebuild(module, graph, [](Emitter&, const Node&, const std::vector<Value>&) {
    return std::optional<std::vector<Value>>();
  });
}

// True if both print the same (apart from unnamed numbering): used for "did anything change".
bool same_graph(const Graph& a, const Graph& b);

}  // namespace weft
