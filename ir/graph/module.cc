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

StorageLookup::StorageLookup(const Module& module) {
  for (const Storage& item : module.storage) by_name_.emplace(item.name, &item);
}

const Storage* StorageLookup::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
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

std::set<std::string> symbols_of(const Node& node) {
  std::set<std::string> symbols;
  for (const Type& type : node.types) {
    for (const Dim& dim : type.shape) dim.collect_symbols(symbols);
  }
  for (const Attr& attr : node.attrs) {
    if (const auto* dim = std::get_if<Dim>(&attr.value)) dim->collect_symbols(symbols);
    if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value)) {
      for (const Dim& dim : *dims) dim.collect_symbols(symbols);
    }
  }
  if (node.body != nullptr) {
    std::set<std::string> inside;
    for (const Node& inner : node.body->nodes()) inside.merge(symbols_of(inner));
    if (node.op == Op::chunked) inside.erase(node.attrs.text("symbol"));
    symbols.merge(inside);
  }
  return symbols;
}

std::set<std::string> symbols_of(const Module& module) {
  std::set<std::string> symbols;
  for (const auto& [symbol, bounds] : module.dims.bounds) symbols.insert(symbol);
  for (const auto& [left, right] : module.dims.equalities()) {
    left.collect_symbols(symbols);
    right.collect_symbols(symbols);
  }
  for (const Storage& item : module.storage) {
    for (const Dim& dim : item.type.shape) dim.collect_symbols(symbols);
  }
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) symbols.merge(symbols_of(node));
  }
  return symbols;
}

}  // namespace weft
