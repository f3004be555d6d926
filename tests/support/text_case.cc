// SPDX-License-Identifier: Apache-2.0
#include "tests/support/text_case.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace weft {
namespace {

constexpr std::string_view kExpect = "--- expect";
constexpr std::string_view kRun = "// run: weft ";
constexpr std::string_view kError = "// error: ";

// Where the expect line begins, or the end.
size_t expect_line(const std::string& text) {
  if (text.starts_with(kExpect)) return 0;
  size_t at = text.find("\n" + std::string(kExpect));
  return at == std::string::npos ? text.size() : at + 1;
}

}  // namespace

TextCase parse_case(const std::string& text) {
  TextCase result;
  size_t expect = expect_line(text);
  result.input = text.substr(0, expect);
  std::istringstream lines(result.input);
  std::string line;
  for (uint32_t number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with(kRun)) {
      std::istringstream words(line.substr(kRun.size()));
      for (std::string word; words >> word;) result.command.push_back(word);
    }
    size_t error = line.find(kError);
    if (error != std::string::npos) result.errors[number] = line.substr(error + kError.size());
  }
  if (expect == text.size()) return result;
  result.has_expect = true;
  size_t end = text.find('\n', expect);
  std::string mark = text.substr(expect, end - expect);
  result.unchanged = mark.ends_with(" unchanged");
  if (end != std::string::npos) result.expected = text.substr(end + 1);
  return result;
}

std::string with_expected(const std::string& text, const std::string& expected, bool unchanged) {
  std::string input = text.substr(0, expect_line(text));
  if (!input.empty() && input.back() != '\n') input += '\n';
  if (unchanged) return input + std::string(kExpect) + " unchanged\n";
  return input + std::string(kExpect) + "\n" + expected;
}

std::string read_test_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<std::filesystem::path> weft_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".weft") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> sample_modules(const std::filesystem::path& folder) {
  std::vector<std::string> modules;
  for (const std::filesystem::path& file : weft_files(folder)) {
    modules.push_back(parse_case(read_test_file(file)).input);
  }
  return modules;
}

}  // namespace weft
