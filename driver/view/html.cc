// A module as one web page.
// SPDX-License-Identifier: Apache-2.0
#include "driver/view/view.h"
#include "ir/text/text.h"

namespace weft {
namespace {

constexpr const char* kStyle = R"(
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #1a1a1a; background: #fdfdfc; }
h1 { font-size: 1.3em; } h2 { font-size: 1.1em; margin-top: 2em; }
pre { font: 12.5px/1.45 ui-monospace, monospace; overflow-x: auto; }
pre a { color: inherit; text-decoration: none; } pre a:hover { text-decoration: underline; }
:target { background: #ffe9a8; } .op { color: #0b5394; } .ty { color: #6b6b6b; } .lo { color: #38761d; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } .op { color: #7db7ff; }
  .ty { color: #999; } .lo { color: #93c47d; } :target { background: #554400; } }
)";

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// One line of the text form: values link to their definitions in the same graph, ops are coloured.
std::string render_line(std::string_view line, const std::string& graph) {
  std::string out;
  size_t equals = line.find(" = ");
  for (size_t i = 0; i < line.size();) {
    char c = line[i];
    if (c == '"') {
      size_t end = std::min(line.find('"', i + 1), line.size() - 1);
      out += "<span class=lo>" + escape(line.substr(i, end - i + 1)) + "</span>";
      i = end + 1;
    } else if (c == '%' || c == '@') {
      size_t end = i + 1;
      while (end < line.size() && in_name(line[end])) ++end;
      std::string name(line.substr(i, end - i));
      std::string scope = c == '%' ? graph : "";
      bool defines = (equals != std::string_view::npos && i < equals) ||
                     (end < line.size() && line[end] == ':');
      out += defines ? "<a id=\"" + escape(scope + name) + "\">"
                     : "<a href=\"#" + escape(scope + name) + "\">";
      out += escape(name) + "</a>";
      i = end;
    } else if (i == equals) {
      size_t end = i + 3;
      while (end < line.size() && in_name(line[end])) ++end;
      out += " = <span class=op>" + escape(line.substr(i + 3, end - i - 3)) + "</span>";
      i = end;
    } else {
      out += escape(line.substr(i, 1));
      ++i;
    }
  }
  return out;
}

}  // namespace

std::string to_html(const Module& module) {
  std::string title = escape(module.name.empty() ? "module" : module.name);
  std::string out = "<!doctype html>\n<html lang=en><meta charset=utf-8><title>" + title +
                    "</title>\n<style>" + kStyle + "</style>\n<h1>" + title + "</h1>\n<p>";
  out += std::to_string(module.storage.size()) + " parameters and states. Graphs:";
  for (const Graph& graph : module.graphs) {
    out += " <a href=\"#graph-" + escape(graph.name()) + "\">@" + escape(graph.name()) + "</a> (" +
           std::to_string(graph.nodes().size()) + " nodes)";
  }
  out += "</p>\n<pre>";
  std::string text = print(module);
  std::string graph;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    size_t start = line.find_first_not_of(' ');
    if (start != std::string_view::npos && line.substr(start).starts_with("graph @")) {
      std::string_view name = line.substr(start + 7);
      graph = std::string(name.substr(0, name.find('(')));
      out += "<span id=\"graph-" + escape(graph) + "\"></span>";
    }
    out += render_line(line, graph) + "\n";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return out + "</pre>\n</html>\n";
}

}  // namespace weft
