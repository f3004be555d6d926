// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/browser.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "tests/tools/cli_fixture.h"

namespace weft {
namespace {

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> entities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&nbsp;", "\u00a0"}, {"&amp;", "&"}};
  for (const auto& [from, to] : entities) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 1) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  return text;
}

// The attributes of a tag as Chromium writes them: name="value", one space between.
std::map<std::string, std::string> attributes_of(const std::string& dom, size_t at, size_t end) {
  std::map<std::string, std::string> found;
  while (at < end) {
    const size_t name = dom.find_first_not_of(' ', at);
    const size_t equals = dom.find("=\"", name);
    if (equals == std::string::npos || equals > end) break;
    const size_t close = dom.find('"', equals + 2);
    found[dom.substr(name, equals - name)] = unescaped(dom.substr(equals + 2, close - equals - 2));
    at = close + 1;
  }
  return found;
}

// Of a tag; a `>` in an attribute does not count.
size_t tag_end(const std::string& dom, size_t at) {
  bool quoted = false;
  for (; at < dom.size() && (quoted || dom[at] != '>'); ++at) quoted ^= dom[at] == '"';
  return at;
}

}  // namespace

std::optional<std::string> find_chromium() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const std::string file = folder + "/" + name;
      if (::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return std::nullopt;
}

Rendered open_page(const std::string& chromium, const std::string& page,
                   const std::string& scratch) {
  const std::string out = scratch + "/dom.html";
  const std::string err = scratch + "/console.txt";
  const std::string command =
      "mkdir -p '" + scratch + "' && HOME='" + scratch + "' timeout 120 '" + chromium +
      "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run" +
      " --disable-extensions --enable-logging=stderr --virtual-time-budget=10000" +
      " --user-data-dir='" + scratch + "/profile' --dump-dom 'file://" + page + "' >'" + out +
      "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  Rendered rendered;
  rendered.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  rendered.dom = slurp(out);
  std::istringstream lines(slurp(err));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != std::string::npos) rendered.messages.push_back(line);
  }
  return rendered;
}

std::vector<Element> elements(const std::string& dom, const std::string& name) {
  std::vector<Element> found;
  const std::string open = "<" + name;
  for (size_t at = 0; (at = dom.find(open, at)) != std::string::npos;) {
    at += open.size();
    if (at >= dom.size() || (dom[at] != ' ' && dom[at] != '>')) continue;
    const size_t end = tag_end(dom, at);
    Element element{attributes_of(dom, at, end), ""};
    const size_t next = dom.find('<', end);
    if (next != std::string::npos) element.text = unescaped(dom.substr(end + 1, next - end - 1));
    found.push_back(std::move(element));
    at = end;
  }
  return found;
}

}  // namespace weft
