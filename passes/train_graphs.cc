// What a trainer runs beside @train_step: @accumulate and @grad_norms.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "ir/graph/rebuild.h"
#include "passes/train_step.h"

namespace weft {

Result<Graph> make_accumulate(const Module& module, Differentiated parts,
                              const std::vector<Wanted>& wanted) {
  Graph& graph = parts.graph;
  graph.set_name(kAccumulate);
  WEFT_TRY(Value weight, add_number_input(graph, "weight"));
  Emitter b(module, graph);
  b.set_origin({"optimizer"}, {});
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].param) continue;
    const std::string name = kAccumulated + wanted[i].name;
    Value kept = graph.read_param(name, wanted[i].type);
    Value weighted = b.mul({parts.gradients[i], b.cast_to(weight, wanted[i].type.dtype)});
    graph.updates.push_back({name, b.add({kept, weighted}), {}});
  }
  return rebuild(module, graph);
}

Result<Graph> make_grad_norms(const Module& module, Differentiated parts,
                              const std::vector<Wanted>& wanted,
                              const std::vector<std::vector<std::string>>& groups) {
  Graph& graph = parts.graph;
  graph.set_name(kGradNorms);
  graph.updates.clear();
  std::map<std::string, Value> gradients;
  for (size_t i = 0; i < wanted.size(); ++i) gradients.emplace(wanted[i].name, parts.gradients[i]);
  Emitter b(module, graph);
  b.set_origin({"grad_norms"}, {});
  std::vector<Value> norms;
  for (const std::vector<std::string>& group : groups) {
    std::vector<Value> members;
    for (const std::string& name : group) {
      auto found = gradients.find(name);
      if (found == gradients.end()) return error(graph.loc, "there is no parameter '", name, "'");
      members.push_back(found->second);
    }
    if (members.empty()) return error(graph.loc, "a group of parameters to watch is empty");
    Value norm = b.cast_to(b.emit(Op::global_norm, std::move(members)), DType::f32);
    norms.push_back(b.reshape_to(norm, {1}));
  }
  graph.outputs.push_back({"norms", b.emit(Op::concat, norms, {{"axis", int64_t{0}}}), {}});
  return rebuild(module, graph);
}

}  // namespace weft
