// Text tests: a .weft file with a command, a module, and the text that must come out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace weft {

//   // run: weft dump --after simplify
//   graph @f(...) -> (...) { ... }
//   --- expect                        (or `--- expect unchanged`, and nothing below)
//   graph @f(...) -> (...) { ... }
//
// or a wrong module, each error announced on its line by `// error: part of the message`.
struct TextCase {
  std::vector<std::string> command;  // {"dump", "--after", "simplify"}; empty without `run:`
  std::string input;                 // all before the expect line, comments included
  bool has_expect = false;
  bool unchanged = false;
  std::string expected;
  std::map<uint32_t, std::string> errors;  // by line: what the message or the hint contains
};

TextCase parse_case(const std::string& text);
// The file with another expected text.
std::string with_expected(const std::string& text, const std::string& expected, bool unchanged);

std::string read_test_file(const std::filesystem::path& path);
// All .weft files below a folder, sorted.
std::vector<std::filesystem::path> weft_files(const std::filesystem::path& folder);
// The inputs of the text tests in a folder: small modules that use much of the language.
std::vector<std::string> sample_modules(const std::filesystem::path& folder);

}  // namespace weft
