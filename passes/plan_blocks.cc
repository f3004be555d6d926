// Storage that lies side by side: what a graph packs along axis 0 costs nothing then.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/plan_work.h"
#include "passes/views.h"

namespace weft {
namespace {

using Members = std::vector<std::string>;

// The storage that a pack puts together, if it is made of nothing else.
Members packed_storage(const Module& module, const Graph& graph, const Node& node) {
  Members members;
  for (Value operand : node.operands) {
    View view = view_of(graph, operand, module.dims);
    const Node& base = graph.node(view.base);
    bool whole = base.op == Op::param && view.offset.is_constant(0) &&
                 is_contiguous(view, graph.type(operand).shape, module.dims) &&
                 element_count(graph.type(operand).shape) == element_count(base.types[0].shape);
    if (!whole || !element_count(base.types[0].shape).is_constant()) return {};
    members.push_back(base.attrs.text("name"));
  }
  Members sorted = members;
  std::ranges::sort(sorted);
  bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  return twice || members.size() < 2 ? Members() : members;
}

}  // namespace

void choose_blocks(PlanContext& context) {
  const Module& module = context.module;
  std::vector<Members> wanted;
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) {
      if (node.op != Op::concat || node.attrs.integer("axis") != 0) continue;
      Members members = packed_storage(module, graph, node);
      if (!members.empty()) wanted.push_back(std::move(members));
    }
  }
  for (const Storage& storage : module.storage) {
    context.homes[storage.name] = {storage.name, 0, element_count(storage.type.shape)};
  }
  // The longest first: a shorter pack may be a part of it. One that contradicts is copied.
  std::ranges::stable_sort(wanted,
                           [](const Members& a, const Members& b) { return a.size() > b.size(); });
  StorageLookup storage(module);
  for (const Members& members : wanted) {
    bool free = std::ranges::all_of(
        members, [&](const std::string& name) { return context.homes[name].name == name; });
    if (!free) continue;
    std::string name = cat("@weft.block.", context.blocks.size());
    Dim total;
    for (const std::string& member : members) {
      context.homes[member] = {name, total, 0};
      total = total + element_count(storage.find(member)->type.shape);
    }
    for (const std::string& member : members) context.homes[member].elements = total;
    context.blocks.push_back({name, members});
  }
}

}  // namespace weft
