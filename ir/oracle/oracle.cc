// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/oracle.h"

#include <algorithm>

#include "ir/graph/live.h"
#include "ir/oracle/run.h"
#include "ir/oracle/sizes.h"

namespace weft {
namespace {

Status check_given(const Graph& graph, const std::vector<bool>& needed, const TensorMap& inputs,
                   const TensorMap& storage) {
  std::vector<std::string> names;
  for (Value input : graph.inputs()) {
    names.push_back(graph.input_name(input));
    if (!inputs.contains(names.back())) {
      return error(graph.node(input).loc, "input ", names.back(), " of graph @", graph.name(),
                   " is missing: expected ", graph.type(input))
          .hint(cat("--input ", names.back(), "=", names.back(), ".npy"));
    }
  }
  for (const auto& [name, tensor] : inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return error(graph.loc, "graph @", graph.name(), " has no input ", name)
        .hint(did_you_mean(name, names));
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!needed[i] || node.op != Op::param || storage.contains(node.attrs.text("name"))) continue;
    return error(node.loc, "@", node.attrs.text("name"), " has no value: expected ", node.types[0])
        .hint("name a file that holds it: --weights model.safetensors");
  }
  return ok();
}

}  // namespace

Result<OracleResult> run_oracle(const Module& module, const Graph& graph, const TensorMap& inputs,
                                const TensorMap& storage, const DimBinding& given,
                                const OracleProgress& progress, const OracleRounding& rounding) {
  std::vector<bool> needed = live_nodes(graph);
  WEFT_TRY_STATUS(check_given(graph, needed, inputs, storage));
  WEFT_TRY(DimBinding dims, bind_dims(module, graph, inputs, storage, given));
  int64_t live = 0;
  for (const TensorMap* map : {&inputs, &storage}) {
    for (const auto& [name, tensor] : *map) live += tensor.size() * kElementBytes;
  }
  std::vector<const Tensor*> tensors(graph.nodes().size(), nullptr);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op != Op::input && node.op != Op::param) continue;
    const TensorMap& map = node.op == Op::input ? inputs : storage;
    auto found = map.find(node.attrs.text("name"));
    if (found != map.end()) tensors[i] = &found->second;
  }
  WEFT_TRY(RunResult run,
           run_graph(graph, tensors, dims, live, rounding ? &rounding : nullptr, progress));
  OracleResult result;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    result.outputs[graph.outputs[i].name] = std::move(run.outputs[i]);
  }
  for (size_t i = 0; i < graph.updates.size(); ++i) {
    result.updates[graph.updates[i].target] = std::move(run.updates[i]);
  }
  return result;
}

}  // namespace weft
