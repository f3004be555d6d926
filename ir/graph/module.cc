// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/module.h"

namespace weft {
namespace {

std::string_view without_sigil(std::string_view name) {
  if (name.starts_with('@')) name.remove_prefix(1);
  return name;
}

}  // namespace

std::string Init::str() const {
  switch (kind) {
    case zeros: return "zeros";
    case ones: return "ones";
    case constant: return "constant(" + format_real(value) + ")";
    case uniform: return "uniform(" + format_real(value) + ")";
    case normal: return "normal(" + format_real(value) + ")";
    case xavier_uniform: return "xavier_uniform";
  }
  return "";
}

const Storage* Module::find_storage(std::string_view storage_name) const {
  for (const Storage& item : storage) {
    if (item.name == without_sigil(storage_name)) return &item;
  }
  return nullptr;
}

const Graph* Module::find_graph(std::string_view graph_name) const {
  for (const Graph& graph : graphs) {
    if (graph.name() == without_sigil(graph_name)) return &graph;
  }
  return nullptr;
}

Graph* Module::find_graph(std::string_view graph_name) {
  return const_cast<Graph*>(static_cast<const Module*>(this)->find_graph(graph_name));
}

std::vector<std::string> Module::storage_names() const {
  std::vector<std::string> names;
  for (const Storage& item : storage) names.push_back(item.name);
  return names;
}

std::vector<std::string> Module::graph_names() const {
  std::vector<std::string> names;
  for (const Graph& graph : graphs) names.push_back(graph.name());
  return names;
}

}  // namespace weft
