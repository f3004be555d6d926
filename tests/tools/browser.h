// A real browser for tests of pages: headless Chromium, if there is one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// The path of a Chromium in PATH; nothing if there is none.
std::optional<std::string> find_chromium();

struct Rendered {
  int code = 0;
  std::string dom;                    // after all scripts have run
  std::vector<std::string> messages;  // of the console: errors, refused requests
};

// Opens a page. `scratch` is a folder for the browser's own files.
Rendered open_page(const std::string& chromium, const std::string& page,
                   const std::string& scratch);

// An element of the DOM, as far as tests need it.
struct Element {
  std::map<std::string, std::string> attributes;
  std::string text;  // up to the next tag
};

// All elements of this name in the text, in order.
std::vector<Element> elements(const std::string& dom, const std::string& name);

}  // namespace weft
