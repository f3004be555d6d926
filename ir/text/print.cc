// Printing of modules in the text form.
// SPDX-License-Identifier: Apache-2.0
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/text.h"

namespace weft {
namespace {

template <class Items, class Format>
void append_list(std::string& out, const Items& items, Format format_item) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    out += format_item(item);
  }
}

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, std::string& out, std::string indent)
      : graph_(graph),
        out_(out),
        indent_(std::move(indent)),
        names_(value_names(graph)),
        literal_(literal_nodes(graph)) {}

  void run() {
    header();
    lines();
    (out_ += indent_) += "}\n";
  }

 private:
  void lines() {
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!info(graph_[i].op).has(kStructural) && !literal_[i]) node(i);
    }
    for (const Update& update : graph_.updates) {
      line() += "update " + spell('@', update.target) + " = " + name(update.value) + "\n";
    }
    line() += graph_.outputs.empty() ? "return" : "return ";
    append_list(out_, graph_.outputs, [&](const Output& output) { return name(output.value); });
    out_ += "\n";
  }

  std::string& line() { return (out_ += indent_) += "  "; }
  const std::string& name(Value value) const { return names_[value.node][value.result]; }

  void header() {
    (out_ += indent_) += "graph " + spell('@', graph_.name()) + "(";
    append_list(out_, graph_.inputs(),
                [&](Value input) { return name(input) + ": " + graph_.type(input).str(); });
    out_ += ") -> (";
    append_list(out_, graph_.outputs, [&](const Output& output) {
      return spell(output.name) + ": " + graph_.type(output.value).str();
    });
    out_ += ") {\n";
  }

  void node(uint32_t index) {
    const Node& node = graph_[index];
    line();
    append_list(out_, names_[index], [](const std::string& result) { return result; });
    (out_ += " = ") += weft::name(node.op);
    if (node.body != nullptr) {
      attrs(node);
      body(node);
    } else {
      operands(node);
      attrs(node);
    }
    out_ += " : ";
    append_list(out_, node.types, [](const Type& type) { return type.str(); });
    if (node.instance != 0) out_ += " instance " + std::to_string(node.instance);
    if (!node.origin.empty()) {
      out_ += " loc ";
      append_list(out_, node.origin, quote);
    }
    out_ += "\n";
  }

  void operands(const Node& node) {
    std::vector<std::optional<DType>> dtypes;
    for (Value operand : node.operands) {
      dtypes.push_back(literal_[operand.node] ? std::nullopt
                                              : std::optional(graph_.type(operand).dtype));
    }
    std::optional<DType> bare = bare_literal_dtype(dtypes);
    if (!node.operands.empty()) out_ += " ";
    append_list(out_, node.operands, [&](Value operand) {
      bool plain = literal_[operand.node] && bare == graph_.type(operand).dtype;
      return plain ? bare_literal(graph_.node(operand)) : name(operand);
    });
  }

  // Its inputs with what they stand for, on one line if there is room, and its lines.
  void body(const Node& node) {
    GraphPrinter inner(*node.body, out_, indent_ + "  ");
    std::vector<std::string> inputs;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      Value input = node.body->inputs()[i];
      inputs.push_back(inner.name(input) + " = " + name(node.operands[i]) + " : " +
                       node.body->type(input).str());
    }
    std::string short_list;
    append_list(short_list, inputs, [](const std::string& input) { return input; });
    constexpr size_t kWidth = 100;
    size_t column = out_.size() - (out_.rfind('\n') + 1);
    if (column + short_list.size() + 5 <= kWidth || inputs.size() < 2) {
      out_ += " (" + short_list + ") {\n";
    } else {
      out_ += " (";
      std::string separator = "\n" + indent_ + "      ";
      for (size_t i = 0; i < inputs.size(); ++i) out_ += (i > 0 ? "," : "") + separator + inputs[i];
      out_ += ") {\n";
    }
    inner.lines();
    line() += "}";
  }

  // A default axis of -1 is stored as the rank of the first operand less one.
  bool is_default(const Node& node, const AttrSpec& spec, const AttrValue& value) const {
    if (spec.required) return false;
    if (spec.kind == AttrKind::axis && !node.operands.empty()) {
      int64_t axis = std::get<int64_t>(spec.fallback);
      if (axis < 0) axis += static_cast<int64_t>(graph_.type(node.operands[0]).rank());
      return equal(value, axis);
    }
    return equal(value, spec.fallback);
  }

  void attrs(const Node& node) {
    std::string text;
    for (const AttrSpec& spec : info(node.op).attrs) {
      const AttrValue* value = node.attrs.find(spec.name);
      if (value == nullptr || is_default(node, spec, *value)) continue;
      text += (text.empty() ? "" : ", ") + spec.name + " = ";
      text += spec.kind == AttrKind::numbers
                  ? format_numbers(std::get<Numbers>(*value), node.attrs.dtype("dtype"))
                  : format(*value);
    }
    if (!text.empty()) out_ += " {" + text + "}";
  }

  const Graph& graph_;
  std::string& out_;
  std::string indent_;
  std::vector<std::vector<std::string>> names_;
  std::vector<bool> literal_;
};

void print_declarations(const Module& module, std::string& out, const std::string& indent) {
  if (!module.weights.empty()) out += indent + "weights " + quote(module.weights) + "\n";
  for (const auto& [symbol, bounds] : module.dims.bounds) {
    out += indent + cat("dim ", symbol, " in ", bounds.low, "..", bounds.high, "\n");
  }
  for (const auto& [left, right] : module.dims.equalities()) {
    out += indent + "assert " + left.str() + " == " + right.str() + "\n";
  }
  for (const Storage& item : module.storage) {
    out += indent + (item.kind == Storage::param ? "param " : "state ") + spell('@', item.name) +
           ": " + item.type.str() + " = " + item.init.str() + "\n";
  }
}

}  // namespace

std::string print(const Module& module) {
  std::string out;
  std::string indent = module.name.empty() ? "" : "  ";
  if (!module.name.empty()) out += "module " + quote(module.name) + " {\n";
  print_declarations(module, out, indent);
  bool first = true;
  for (const Graph& graph : module.graphs) {
    if (!first) out += "\n";
    first = false;
    GraphPrinter(graph, out, indent).run();
  }
  if (!module.name.empty()) out += "}\n";
  return out;
}

std::string print(const Module&, const Graph& graph) {
  std::string out;
  GraphPrinter(graph, out, "").run();
  return out;
}

}  // namespace weft
