// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/widen.h"

#include "ir/support/check.h"

namespace weft {
namespace {

DType widened(DType dtype) { return is_float(dtype) ? DType::f64 : dtype; }
Type widened(const Type& type) { return {widened(type.dtype), type.shape}; }

Attrs widened(const Attrs& attrs) {
  Attrs result;
  for (const Attr& attr : attrs) {
    const DType* dtype = std::get_if<DType>(&attr.value);
    result.set(attr.name, dtype != nullptr ? AttrValue(widened(*dtype)) : attr.value);
  }
  return result;
}

Graph widened(const Module& module, const Graph& graph) {
  Graph result(graph.name());
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::input) {
      result.add_input(node.attrs.text("name"), widened(node.types[0]));
    } else if (node.op == Op::param) {
      result.read_param(node.attrs.text("name"), widened(node.types[0]));
    } else {
      Node copy = node;
      copy.attrs = widened(node.attrs);
      if (node.body) copy.body = std::make_shared<const Graph>(widened(module, *node.body));
      Result<Value> value = result.append(std::move(copy), module.dims);
      WEFT_CHECK(value.ok(), "a wider graph is valid: " + render(value.diagnostics()));
    }
  }
  result.outputs = graph.outputs;
  result.updates = graph.updates;
  return result;
}

}  // namespace

Module widen(const Module& module) {
  Module result = module;
  for (Storage& entry : result.storage) entry.type = widened(entry.type);
  for (Graph& graph : result.graphs) graph = widened(module, graph);
  return result;
}

}  // namespace weft
