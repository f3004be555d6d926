// Graphviz drawings of a module.
// SPDX-License-Identifier: Apache-2.0
#include "driver/view/view.h"
#include "ir/text/text.h"

namespace weft {
namespace {

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Literal operands are part of their user's label, not nodes of the drawing.
bool drawn(const Node& node) { return node.op != Op::constant; }

}  // namespace

std::string to_dot(const Module& module) {
  std::string out =
      "digraph \"" + escape(module.name) + "\" {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (size_t g = 0; g < module.graphs.size(); ++g) {
    const Graph& graph = module.graphs[g];
    auto names = value_names(graph);
    std::string prefix = "g" + std::to_string(g) + "n";
    out += "  subgraph \"cluster_" + escape(graph.name()) + "\" {\n    label=\"@" +
           escape(graph.name()) + "\";\n";
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph[i];
      if (!drawn(node)) continue;
      bool source = info(node.op).has(kStructural);
      std::string label = (source ? "" : std::string(name(node.op)) + "\\n") + escape(names[i][0]);
      out += "    " + prefix + std::to_string(i) + " [label=\"" + label + "\\n" +
             escape(node.types[0].str()) + "\"" + (source ? ", style=rounded" : "") + "];\n";
      for (Value operand : node.operands) {
        if (!drawn(graph.node(operand))) continue;
        out += "    " + prefix + std::to_string(operand.node) + " -> " + prefix +
               std::to_string(i) + ";\n";
      }
    }
    for (const Output& output : graph.outputs) {
      std::string id = prefix + "out_" + output.name;
      out += "    \"" + escape(id) + "\" [label=\"" + escape(output.name) + "\", style=bold];\n";
      if (drawn(graph.node(output.value))) {
        out +=
            "    " + prefix + std::to_string(output.value.node) + " -> \"" + escape(id) + "\";\n";
      }
    }
    out += "  }\n";
  }
  return out + "}\n";
}

}  // namespace weft
