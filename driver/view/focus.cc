// The part of a module around one thing.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "driver/view/view.h"
#include "ir/text/lexer.h"
#include "ir/text/text.h"

namespace weft {
namespace {

// "encoder.0" covers "encoder.0" and "encoder.0.attn", not "encoder.01".
bool covers(const std::string& part, const std::string& origin) {
  return origin == part || (origin.starts_with(part) && origin[part.size()] == '.');
}

// A value's name without its sigil, and without the quotes that some need.
std::string bare_name(const std::string& spelt) { return Lexer(spelt).next().name(); }

bool matches(const Node& node, const std::vector<std::string>& names, const std::string& focus) {
  if (node.op == Op::constant) return false;
  std::string bare = focus.starts_with('%') || focus.starts_with('@') ? focus.substr(1) : focus;
  for (const std::string& value_name : names) {
    if (value_name == focus || bare_name(value_name) == bare) return true;
  }
  if (name(node.op) == focus) return true;
  return std::any_of(node.origin.begin(), node.origin.end(),
                     [&](const std::string& origin) { return covers(focus, origin); });
}

// The printed lines of a graph by the name of the first value that each defines; with a body all
// of its lines, as far as they are to the right of the first.
std::map<std::string, std::vector<std::string>> lines_by_value(const std::string& text) {
  constexpr size_t kIndent = 2;  // of what stands in the graph itself
  std::map<std::string, std::vector<std::string>> lines;
  std::vector<std::string>* open = nullptr;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    size_t indent = line.find_first_not_of(' ');
    bool inside = indent != std::string_view::npos && indent >= kIndent;
    if (inside) line.remove_prefix(kIndent);
    if (inside && line.starts_with('%')) {
      open = &lines[std::string(Lexer(line).next().text)];
      open->emplace_back(line);
    } else if (inside && open != nullptr && (line.starts_with(' ') || line.starts_with('}'))) {
      open->emplace_back(line);
    } else {
      open = nullptr;
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return lines;
}

// What a region computes, or where it came from, is also looked for in its body.
bool matches_inside(const Node& node, const std::string& focus) {
  if (node.body == nullptr) return false;
  auto names = value_names(*node.body);
  for (uint32_t i = 0; i < node.body->nodes().size(); ++i) {
    const Node& inner = (*node.body)[i];
    if (inner.op == Op::input) continue;  // its name is that of something outside
    if (matches(inner, names[i], focus) || matches_inside(inner, focus)) return true;
  }
  return false;
}

}  // namespace

Result<std::string> focus_text(const Module& module, const std::string& focus) {
  std::string out;
  std::vector<std::string> known;
  for (const Graph& graph : module.graphs) {
    auto names = value_names(graph);
    std::set<uint32_t> centre;
    std::set<uint32_t> around;
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      for (const std::string& value_name : names[i]) known.push_back(value_name);
      for (const std::string& origin : graph[i].origin) known.push_back(origin);
      if (matches(graph[i], names[i], focus) || matches_inside(graph[i], focus)) centre.insert(i);
    }
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      for (Value operand : graph[i].operands) {
        if (centre.count(i) > 0) around.insert(operand.node);
        if (centre.count(operand.node) > 0) around.insert(i);
      }
    }
    if (centre.empty()) continue;
    auto lines = lines_by_value(print(module, graph));
    out += "graph @" + graph.name() + "\n";
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (centre.count(i) == 0 && around.count(i) == 0) continue;
      std::vector<std::string> shown = lines[names[i][0]];  // none for a literal
      if (info(graph[i].op).has(kStructural)) {
        shown = {names[i][0] + ": " + graph[i].types[0].str()};
      }
      for (const std::string& line : shown) {
        out += (centre.count(i) > 0 ? "> " : "  ") + line + "\n";
      }
    }
  }
  if (!out.empty()) return out;
  return error({}, "nothing in the module is called '", focus, "'")
      .hint(did_you_mean(focus, known));
}

}  // namespace weft
