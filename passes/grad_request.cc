// SPDX-License-Identifier: Apache-2.0
#include "passes/grad_request.h"

#include <algorithm>
#include <set>

namespace weft {

const Output* find_output(const Graph& graph, const std::string& name) {
  auto found = std::ranges::find(graph.outputs, name, &Output::name);
  return found == graph.outputs.end() ? nullptr : &*found;
}

const Type* input_type(const Graph& graph, const std::string& name) {
  for (Value input : graph.inputs()) {
    if (graph.input_name(input) == name) return &graph.type(input);
  }
  return nullptr;
}

namespace {

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  return names;
}

// A hint even where no name is near: some name that would do.
std::string suggest(const std::string& name, const std::vector<std::string>& candidates,
                    const std::string& otherwise) {
  std::string near = did_you_mean(name, candidates);
  if (!near.empty() || candidates.empty()) return near;
  return otherwise + " '" + candidates.front() + "'";
}

}  // namespace

Result<const Graph*> find_loss_graph(const Module& module, const GradRequest& request) {
  if (!request.graph.empty()) {
    const Graph* graph = module.find_graph(request.graph);
    if (graph == nullptr) {
      return error({}, "there is no graph '", request.graph, "'")
          .hint(suggest(request.graph, module.graph_names(), "try"));
    }
    if (find_output(*graph, request.loss) != nullptr) return graph;
    return error(graph->loc, "graph @", graph->name(), " has no output '", request.loss, "'")
        .hint(suggest(request.loss, output_names(*graph), "try --loss"));
  }
  const Graph* found = nullptr;
  std::vector<std::string> candidates;
  for (const Graph& graph : module.graphs) {
    for (const std::string& name : output_names(graph)) candidates.push_back(name);
    if (find_output(graph, request.loss) == nullptr) continue;
    if (found != nullptr) {
      return error(graph.loc, "graphs @", found->name(), " and @", graph.name(),
                   " both have an output '", request.loss, "'")
          .hint("say which one: --graph @" + found->name());
    }
    found = &graph;
  }
  if (found != nullptr) return found;
  return error({}, "no graph has an output '", request.loss, "'")
      .hint(suggest(request.loss, candidates, "try --loss"));
}

namespace {

std::vector<Wanted> default_wanted(const Module& module, const Graph& graph) {
  std::vector<Wanted> wanted;
  for (const Storage& item : module.storage) {
    bool trained = item.kind == Storage::param && is_float(item.type.dtype);
    if (trained) wanted.push_back({item.name, true, item.type, item.loc});
  }
  if (!wanted.empty()) return wanted;
  for (Value input : graph.inputs()) {
    const Node& node = graph.node(input);
    bool real = is_float(node.types[0].dtype);
    if (real) wanted.push_back({graph.input_name(input), false, node.types[0], node.loc});
  }
  return wanted;
}

Result<Wanted> find_wanted(const Module& module, const StorageLookup& storage, const Graph& graph,
                           const std::string& text) {
  bool only_param = text.starts_with('@');
  bool only_input = text.starts_with('%');
  std::string name = only_param || only_input ? text.substr(1) : text;
  const Storage* item = only_input ? nullptr : storage.find(name);
  const Type* input = only_param ? nullptr : input_type(graph, name);
  if (item == nullptr && input == nullptr) {
    std::vector<std::string> candidates;
    if (!only_input) candidates = module.storage_names();
    for (Value in : graph.inputs()) {
      if (!only_param) candidates.push_back(graph.input_name(in));
    }
    return error(graph.loc, "there is no parameter or input '", text, "' in graph @", graph.name())
        .hint(suggest(name, candidates, "try --wrt"));
  }
  if (item != nullptr && input != nullptr) {
    return error(graph.loc, "'", name, "' is both a parameter and an input")
        .hint("write @" + name + " or %" + name);
  }
  const Type& type = item != nullptr ? item->type : *input;
  const Loc& loc = item != nullptr ? item->loc : graph.loc;
  if (!is_float(type.dtype)) {
    return error(loc, "'", text, "' has type ", type, "; only floats have gradients")
        .hint("leave " + text + " out of --wrt");
  }
  return Wanted{name, item != nullptr, type, loc};
}

}  // namespace

Result<std::vector<Wanted>> resolve_wanted(const Module& module, const Graph& graph,
                                           const GradRequest& request) {
  std::vector<Wanted> wanted;
  StorageLookup storage(module);
  for (const std::string& text : request.wrt) {
    WEFT_TRY(Wanted one, find_wanted(module, storage, graph, text));
    wanted.push_back(std::move(one));
  }
  if (request.wrt.empty()) wanted = default_wanted(module, graph);
  if (wanted.empty()) {
    return error(graph.loc, "graph @", graph.name(), " has no float parameters or inputs")
        .hint("declare what to differentiate by as a float, for instance %x: f32[4]");
  }
  std::set<std::string> outputs = {request.loss};
  for (const Wanted& one : wanted) {
    if (!outputs.insert("grad." + one.name).second) {
      return error(graph.loc, "@backward would return 'grad.", one.name, "' twice")
          .hint("name '" + one.name + "' once in --wrt");
    }
  }
  return wanted;
}

}  // namespace weft
