// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fused_form.h"

#include <algorithm>

#include "passes/fuse_attention.h"
#include "passes/regions.h"
#include "passes/views.h"

namespace weft {
namespace {

std::optional<std::string> region_fault(const Node& node, const DimFacts& facts) {
  const Graph& body = *node.body;
  Part part{&body, {}, {}};
  for (uint32_t i = 0; i < body.nodes().size(); ++i) {
    if (body[i].op != Op::input) part.nodes.push_back(i);
  }
  for (const Output& output : body.outputs) {
    if (body.node(output.value).op == Op::input) return "a region returns its operand";
    part.results.insert(output.value);
  }
  FormOrRefusal form = region_form(part, facts);
  if (auto* refusal = std::get_if<Refusal>(&form)) return *refusal;
  if (std::get<RegionForm>(form).kind == node.attrs.text("kind")) return std::nullopt;
  return "is of kind " + std::get<RegionForm>(form).kind;
}

bool has_gaps(const Graph& graph, Value value, const DimFacts& facts) {
  return !is_contiguous(view_of(graph, value, facts), graph.type(value).shape, facts);
}

std::optional<std::string> node_fault(const Module& module, const Graph& graph, uint32_t index) {
  const Node& node = graph[index];
  switch (node.op) {
    case Op::input:
    case Op::param:
    case Op::constant: return std::nullopt;
    case Op::region: return region_fault(node, module.dims);
    case Op::chunked:
    case Op::concat:
      for (Value operand : node.operands) {
        if (has_gaps(graph, operand, module.dims)) return "reads an operand with gaps";
      }
      return node.body ? fused_fault(module, *node.body) : std::nullopt;
    default: break;
  }
  if (!info(node.op).has(kView)) return "is outside of regions";
  if (is_free_view(graph, {index, 0}, module.dims)) return std::nullopt;
  return "is no view by strides";
}

}  // namespace

std::optional<std::string> fused_fault(const Module& module, const Graph& graph) {
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (auto fault = node_fault(module, graph, i)) {
      return cat(name(graph[i].op), " %", graph[i].names[0], ": ", *fault);
    }
  }
  for (const Output& output : graph.outputs) {
    if (has_gaps(graph, output.value, module.dims)) return output.name + " has gaps";
  }
  for (const Update& update : graph.updates) {
    if (has_gaps(graph, update.value, module.dims)) return "@" + update.target + " has gaps";
  }
  return std::nullopt;
}

int64_t region_count(const Graph& graph) {
  int64_t count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::region) ++count;
    if (node.op == Op::chunked) count += region_count(*node.body);
  }
  return count;
}

bool has_fused_attention(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return fused_attention(node) != nullptr; });
}

}  // namespace weft
