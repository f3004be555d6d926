// A module as one web page.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <vector>

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

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// The lines of the text form, one after the other: values link to their definitions in the same
// graph or body, ops are coloured.
class Lines {
 public:
  void begin_graph(const std::string& graph) { scopes_ = {graph}; }

  std::string render(std::string_view line) {
    size_t start = std::min(line.find_first_not_of(' '), line.size());
    if (line.substr(start).starts_with('}') && scopes_.size() > 1) scopes_.pop_back();
    line_ = line;
    out_.clear();
    equals_ = inputs_ ? std::string_view::npos : line.find(" = ");
    for (size_t i = 0; i < line.size();) i = part(i);
    if (inputs_ && line.ends_with('{')) inputs_ = false;
    return out_;
  }

 private:
  // Renders what begins at `i`; returns where it ends.
  size_t part(size_t i) {
    char c = line_[i];
    if (c == '"') {
      size_t end = std::min(line_.find('"', i + 1), line_.size() - 1) + 1;
      out_ += "<span class=lo>" + escape_html(line_.substr(i, end - i)) + "</span>";
      return end;
    }
    if (c == '%' || c == '@') return reference(i);
    if (i == equals_) {
      size_t end = name_end(i + 3);
      std::string_view op = line_.substr(i + 3, end - i - 3);
      out_ += " = <span class=op>" + escape_html(op) + "</span>";
      if (auto found = find_op(op); found && info(*found).has(kBody)) open_inputs();
      return end;
    }
    out_ += escape_html(line_.substr(i, 1));
    return i + 1;
  }

  size_t reference(size_t i) {
    size_t end = name_end(i + 1);
    std::string name(line_.substr(i, end - i));
    std::string_view after = line_.substr(end);
    bool inner = inputs_ && after.starts_with(" = ");  // of a body, whose scope is the newest
    bool defines = inner || (!inputs_ && ((equals_ != std::string_view::npos && i < equals_) ||
                                          after.starts_with(':')));
    std::string scope = scopes_.empty() ? "" : scopes_.back();
    if (inputs_ && !inner) scope = scopes_[scopes_.size() - 2];
    std::string target = escape_html((line_[i] == '%' ? scope : "") + name);
    out_ += defines ? "<a id=\"" + target + "\">" : "<a href=\"#" + target + "\">";
    out_ += escape_html(name) + "</a>";
    return end;
  }

  // The inputs of a body follow, on this line or on the next ones.
  void open_inputs() {
    size_t first = line_.find_first_not_of(' ');
    std::string owner(line_.substr(first, name_end(first + 1) - first));
    scopes_.push_back((scopes_.empty() ? "" : scopes_.back()) + owner);
    inputs_ = true;
  }

  size_t name_end(size_t i) const {
    while (i < line_.size() && in_name(line_[i])) ++i;
    return i;
  }

  std::string_view line_;
  size_t equals_ = 0;
  bool inputs_ = false;
  std::vector<std::string> scopes_;  // the graph and the bodies that are open
  std::string out_;
};

}  // namespace

std::string to_html(const Module& module) {
  std::string title = escape_html(module.name.empty() ? "module" : module.name);
  std::string out = "<!doctype html>\n<html lang=en><meta charset=utf-8><title>" + title +
                    "</title>\n<style>" + kStyle + "</style>\n<h1>" + title + "</h1>\n<p>";
  out += std::to_string(module.storage.size()) + " parameters and states. Graphs:";
  for (const Graph& graph : module.graphs) {
    out += " <a href=\"#graph-" + escape_html(graph.name()) + "\">@" + escape_html(graph.name()) +
           "</a> (" + std::to_string(graph.nodes().size()) + " nodes)";
  }
  out += "</p>\n<pre>";
  std::string text = print(module);
  Lines lines;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    size_t start = line.find_first_not_of(' ');
    if (start != std::string_view::npos && line.substr(start).starts_with("graph @")) {
      std::string_view name = line.substr(start + 7);
      std::string graph(name.substr(0, name.find('(')));
      lines.begin_graph(graph);
      out += "<span id=\"graph-" + escape_html(graph) + "\"></span>";
    }
    out += lines.render(line) + "\n";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return out + "</pre>\n</html>\n";
}

std::string escape_html(std::string_view text) {
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

}  // namespace weft
