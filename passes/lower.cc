// SPDX-License-Identifier: Apache-2.0
#include "passes/lower.h"

#include <algorithm>

#include "ir/support/check.h"
#include "ir/tile/expand.h"
#include "passes/lower_kinds.h"

namespace weft {
namespace {

using lowering::Region;
using lowering::TracedRegion;

// By `kind` of the op table.
TracedRegion lower_kind(const Region& region, const std::string& kind, const std::string& name) {
  struct Row {
    std::string_view kind;
    TracedRegion (*lower)(const Region&, const std::string&);
  };
  static constexpr Row kKinds[] = {
      {"map", lowering::lower_map},       {"rows", lowering::lower_rows},
      {"matmul", lowering::lower_matmul}, {"scatter", lowering::lower_scatter},
      {"scan", lowering::lower_scan},     {"top_k", lowering::lower_top_k},
  };
  for (const Row& row : kKinds) {
    if (row.kind == kind) return row.lower(region, name);
  }
  WEFT_CHECK(false, "a region of a known kind: " + kind);
  return {};
}

// A program whose parts of sums cross programs becomes several, with the parts in workspaces
// between.
void append(LoweredRegion& region, const lowering::Traced& traced) {
  using Bound = LoweredRegion::Bound;
  tile::Expanded expanded = tile::expand_accumulate(traced.program);
  std::vector<std::vector<Bound>> buffers(expanded.programs.size());
  buffers[0] = traced.buffers;
  for (tile::Partial& partial : expanded.partials) {
    const Bound workspace{Bound::workspace, static_cast<uint32_t>(region.workspaces.size())};
    region.workspaces.push_back({std::move(partial.name), partial.dtype, partial.elements});
    std::vector<Bound>& finish = buffers[partial.program];
    finish.resize(expanded.programs[partial.program].buffers.size());
    finish[partial.finish_in] = workspace;
    finish[partial.finish_out] = traced.buffers[partial.result];
    buffers[0][partial.main] = workspace;
  }
  for (size_t i = 0; i < expanded.programs.size(); ++i) {
    WEFT_CHECK(expanded.programs[i].buffers.size() == buffers[i].size(),
               "every buffer of a program stands for something");
    region.programs.push_back(std::move(expanded.programs[i]));
    region.buffers.push_back(std::move(buffers[i]));
  }
}

bool is_read_in(const Graph& graph, Value value) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return std::ranges::find(node.operands, value) != node.operands.end();
  });
}

bool is_bound_after(const LoweredRegion& region, size_t program, uint32_t result) {
  using Bound = LoweredRegion::Bound;
  for (size_t later = program + 1; later < region.programs.size(); ++later) {
    for (const Bound& bound : region.buffers[later]) {
      if (bound.kind == Bound::result && bound.index == result) return true;
    }
  }
  return false;
}

// What only the user gets is not read again by any kernel.
void stream_outputs(const Graph& graph, uint32_t node, LoweredRegion& region) {
  using Bound = LoweredRegion::Bound;
  for (size_t i = 0; i < region.programs.size(); ++i) {
    for (tile::Stmt& stmt : region.programs[i].body) {
      if (stmt.kind != tile::Stmt::store) continue;
      const Bound& bound = region.buffers[i][stmt.ref.buffer];
      stmt.stream = bound.kind == Bound::result && !is_read_in(graph, {node, bound.index}) &&
                    !is_bound_after(region, i, bound.index);
    }
  }
}

}  // namespace

Result<LoweredRegion> lower_region(const Module& module, const Graph& graph, uint32_t node,
                                   const DeviceTraits& device) {
  const Node& region_node = graph[node];
  WEFT_CHECK(region_node.op == Op::region, "lower_region() of a region");
  const std::string& kind = region_node.attrs.text("kind");
  std::string name = region_node.names.empty() ? "" : region_node.names[0];
  CheckContext context("lowering of a region of kind " + kind + " (" + name + ")");
  if (name.empty()) name = std::to_string(node);

  Region region{module, graph, node, device, {}};
  for (Value operand : region_node.operands) {
    region.operands.push_back(view_of(graph, operand, module.dims));
  }
  LoweredRegion result;
  if (kind == "attention") {
    result = lowering::lower_attention_region(region);
    stream_outputs(graph, node, result);
    return result;
  }
  TracedRegion traced = lower_kind(region, kind, kind + "_" + name);
  result.copy_program = traced.copy_program;
  for (const lowering::Traced& program : traced.programs) append(result, program);
  stream_outputs(graph, node, result);
  return result;
}

}  // namespace weft
