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

// One graph, or one body, as a cluster. Edges run from where a value is computed to where it is
// used: into a body's inputs, and out of the nodes that compute what the body returns.
class Drawing {
 public:
  Drawing(const Graph& graph, std::string prefix, std::string indent, std::string& out)
      : graph_(graph), prefix_(std::move(prefix)), indent_(std::move(indent)), out_(out) {}

  void draw() {
    auto names = value_names(graph_);
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_[i];
      if (!drawn(node)) continue;
      if (node.body != nullptr) {
        draw_body(i, names[i][0]);
        continue;
      }
      bool source = info(node.op).has(kStructural);
      std::string label = (source ? "" : std::string(name(node.op)) + "\\n") + escape(names[i][0]);
      line() += id(i) + " [label=\"" + label + "\\n" + escape(node.types[0].str()) + "\"" +
                (source ? ", style=rounded" : "") + "];\n";
      for (Value operand : node.operands) edge(operand, id(i));
    }
  }

  // From the node that computes a value.
  void edge(Value from, const std::string& to) {
    if (std::string source = source_of(from); !source.empty()) {
      line() += source + " -> " + to + ";\n";
    }
  }

 private:
  std::string& line() { return out_ += indent_; }
  std::string id(uint32_t node) const { return prefix_ + std::to_string(node); }
  std::string inner_prefix(uint32_t node) const { return id(node) + "n"; }

  void draw_body(uint32_t index, const std::string& value_name) {
    const Node& node = graph_[index];
    line() += "subgraph \"cluster_" + id(index) + "\" {\n";
    line() += "  label=\"" + std::string(name(node.op)) + " " + escape(value_name) + "\";\n";
    Drawing(*node.body, inner_prefix(index), indent_ + "  ", out_).draw();
    line() += "}\n";
    for (size_t i = 0; i < node.operands.size(); ++i) {
      edge(node.operands[i], inner_prefix(index) + std::to_string(node.body->inputs()[i].node));
    }
  }

  // Empty for what is not drawn.
  std::string source_of(Value value) const {
    const Node& node = graph_.node(value);
    if (!drawn(node)) return "";
    if (node.body == nullptr) return id(value.node);
    Drawing inner(*node.body, inner_prefix(value.node), "", out_);
    return inner.source_of(node.body->outputs[value.result].value);
  }

  const Graph& graph_;
  std::string prefix_;
  std::string indent_;
  std::string& out_;
};

}  // namespace

std::string to_dot(const Module& module) {
  std::string out =
      "digraph \"" + escape(module.name) + "\" {\n  node [shape=box, fontname=\"monospace\"];\n";
  for (size_t g = 0; g < module.graphs.size(); ++g) {
    const Graph& graph = module.graphs[g];
    std::string prefix = "g" + std::to_string(g) + "n";
    out += "  subgraph \"cluster_" + escape(graph.name()) + "\" {\n    label=\"@" +
           escape(graph.name()) + "\";\n";
    Drawing drawing(graph, prefix, "    ", out);
    drawing.draw();
    for (const Output& output : graph.outputs) {
      std::string id = "\"" + escape(prefix + "out_" + output.name) + "\"";
      out += "    " + id + " [label=\"" + escape(output.name) + "\", style=bold];\n";
      drawing.edge(output.value, id);
    }
    out += "  }\n";
  }
  return out + "}\n";
}

}  // namespace weft
