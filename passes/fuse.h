// Pass `fuse`: gathers the nodes of each graph in regions, each of which becomes a kernel or a
// short sequence of kernels. Needs: primitives only, arranged (passes/arrange.h). Leaves: every op
// that computes inside a region; outside of them inputs, parameters, constants, views that strides
// express, packs (concat of flat parts) and `chunked` nodes, whose bodies are fused in the same
// way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "passes/pass.h"

namespace weft {

Result<bool> fuse(Module& module, const PassOptions& options);

// Two regions of a fused graph, one of which reads what the other makes.
struct NotJoined {
  uint32_t producer = 0;  // nodes of the graph
  uint32_t consumer = 0;
  std::string reason;  // "reduces over other axes"
};

// Why neighbouring regions are two. One entry for each pair, in order; for a `chunked` node ask
// about its body.
std::vector<NotJoined> explain_fusion(const Module& module, const Graph& graph);

// What a region costs, as expressions of the symbols.
struct RegionCost {
  int64_t ops = 0;  // nodes of the body that compute
  Dim bytes_read;   // of all operands, each once
  Dim bytes_written;
  Dim flops;  // as count_flops counts
};
RegionCost region_cost(const Graph& graph, uint32_t node, const DimFacts& facts);

}  // namespace weft
