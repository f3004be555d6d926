// SPDX-License-Identifier: Apache-2.0
#include "passes/autodiff.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "ir/graph/rebuild.h"
#include "passes/grad_request.h"
#include "passes/pass.h"
#include "passes/train_step.h"

namespace weft {
namespace {

constexpr const char* kBackward = "backward";

Status check_free(const Module& module, const std::string& graph_name) {
  const Graph* there = module.find_graph(graph_name);
  if (there == nullptr) return ok();
  return error(there->loc, "the module already has a graph @", graph_name)
      .hint("remove or rename graph @" + graph_name + " first");
}

Result<Differentiated> with_gradients(const Module& module, const Graph& source,
                                      const std::vector<Wanted>& wanted) {
  Differentiated result;
  result.graph = rebuild(module, source);
  Graph& graph = result.graph;
  std::map<std::string, Value> inputs;
  for (Value input : graph.inputs()) inputs.emplace(graph.input_name(input), input);
  std::vector<Value> values;
  for (const Wanted& one : wanted) {
    values.push_back(one.param ? graph.read_param(one.name, one.type, one.loc)
                               : inputs.at(one.name));
  }
  Emitter b(module, graph);
  WEFT_TRY(result.gradients, differentiate(b, graph.outputs[0].value, values));
  return result;
}

std::set<std::string> value_name_set(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes()) names.insert(node.names.begin(), node.names.end());
  return names;
}

Graph backward_graph(const Module& module, Differentiated parts,
                     const std::vector<Wanted>& wanted) {
  Graph& graph = parts.graph;
  graph.set_name(kBackward);
  graph.updates.clear();
  std::set<std::string> names = value_name_set(graph);
  for (size_t i = 0; i < wanted.size(); ++i) {
    Value gradient = parts.gradients[i];
    std::string name = "grad." + wanted[i].name;
    const Node& node = graph.node(gradient);
    bool unnamed = node.op != Op::constant && node.names[gradient.result].empty();
    if (unnamed && names.insert(name).second) graph.set_value_name(gradient, name);
    graph.outputs.push_back({name, gradient, {}});
  }
  return rebuild(module, graph);
}

}  // namespace

Status add_backward(Module& module, const GradRequest& request) {
  WEFT_TRY_STATUS(check_free(module, kBackward));
  bool train = !request.optimizer.empty();
  if (train) WEFT_TRY_STATUS(check_free(module, kTrainStep));
  WEFT_TRY(const Graph* found, find_loss_graph(module, request));
  WEFT_TRY(std::vector<Wanted> wanted, resolve_wanted(module, *found, request));

  Graph source = *found;
  source.outputs = {*find_output(*found, request.loss)};
  WEFT_TRY(Differentiated parts, with_gradients(module, source, wanted));
  // Nothing is added before everything has succeeded.
  Training training;
  if (train) {
    WEFT_TRY(training, make_train_step(module, parts, wanted, {request.optimizer}));
  }
  module.graphs.push_back(backward_graph(module, std::move(parts), wanted));
  if (!train) return ok();
  module.graphs.push_back(std::move(training.graph));
  std::ranges::move(training.storage, std::back_inserter(module.storage));
  return ok();
}

Status add_training(Module& module, const TrainRequest& request) {
  for (const char* name : {kTrainStep, kAccumulate, kGradNorms}) {
    WEFT_TRY_STATUS(check_free(module, name));
  }
  WEFT_TRY(const Graph* found, find_loss_graph(module, request.loss));
  GradRequest all = request.loss;
  all.wrt.clear();
  WEFT_TRY(std::vector<Wanted> wanted, resolve_wanted(module, *found, all));
  Graph source = *found;
  source.outputs = {*find_output(*found, request.loss.loss)};
  WEFT_TRY(Differentiated parts, with_gradients(module, source, wanted));
  WEFT_TRY(Training training, make_train_step(module, parts, wanted, request.settings));
  std::vector<Graph> graphs;
  graphs.push_back(std::move(training.graph));
  if (!request.watched.empty()) {
    WEFT_TRY(Graph norms, make_grad_norms(module, parts, wanted, request.watched));
    graphs.push_back(std::move(norms));
  }
  if (request.settings.accumulate) {
    WEFT_TRY(Graph accumulate, make_accumulate(module, std::move(parts), wanted));
    graphs.push_back(std::move(accumulate));
  }
  module.graphs.erase(module.graphs.begin() + (found - module.graphs.data()));
  std::ranges::move(graphs, std::back_inserter(module.graphs));
  std::ranges::move(training.storage, std::back_inserter(module.storage));
  return ok();
}

Result<bool> autodiff(Module& module, const PassOptions& options) {
  if (!options.grad && !options.train) return false;
  if (options.grad) WEFT_TRY_STATUS(add_backward(module, *options.grad));
  if (options.train) WEFT_TRY_STATUS(add_training(module, *options.train));
  return true;
}

}  // namespace weft
