// Runs every tests/**/*.weft file: what comes out is compared with the text in the file.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "driver/decode/derive.h"
#include "ir/serial/serial.h"
#include "ir/text/text.h"
#include "passes/pass.h"
#include "test_paths.h"
#include "tests/support/text_case.h"

namespace weft {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

// The commands that a text test may use, with their options.
Status run_command(const std::vector<std::string>& command, Module& module) {
  PipelineOptions pipeline;
  GradRequest grad;
  for (size_t i = 1; i < command.size(); ++i) {
    // Those without a value.
    if (command[i] == "--fast-math") {
      pipeline.pass.fast_math = true;
      continue;
    }
    if (command[i] == "--no-fuse-attention") {
      pipeline.pass.fuse_attention = false;
      continue;
    }
    std::string value = i + 1 < command.size() ? command[i + 1] : "";
    if (command[i] == "--after") {
      pipeline.stop_after = value;
    } else if (command[i] == "--skip") {
      pipeline.skip = split(value);
    } else if (command[i] == "--graph") {
      grad.graph = value;
    } else if (command[i] == "--loss") {
      grad.loss = value;
    } else if (command[i] == "--wrt") {
      grad.wrt = split(value);
    } else if (command[i] == "--optimizer") {
      grad.optimizer = value;
    } else {
      return error({}, "the text runner does not know ", command[i]);
    }
    ++i;
  }
  if (command[0] == "grad") return add_backward(module, grad);
  if (command[0] == "derive") {
    WEFT_TRY(DecodeGraphs made, decode_graphs(std::move(module), {}));
    module = std::move(made.module);
    return ok();
  }
  if (command[0] != "dump") return error({}, "the text runner does not know ", command[0]);
  if (pipeline.stop_after.empty()) return ok();
  if (!grad.loss.empty()) pipeline.pass.grad = grad;
  WEFT_TRY(auto records, run_pipeline(module, pipeline));
  return records.empty() ? Status(error({}, "no pass ran")) : ok();
}

void expect_errors(const std::string& file, const TextCase& test) {
  Result<Module> module = parse(file, test.input);
  ASSERT_FALSE(module.ok()) << "no error was found";
  std::map<uint32_t, std::string> left = test.errors;
  for (const Diagnostic& diagnostic : module.diagnostics()) {
    auto announced = test.errors.find(diagnostic.loc.line);
    std::string text = diagnostic.message + "\n" + diagnostic.hint;
    bool fits = announced != test.errors.end() && text.find(announced->second) != std::string::npos;
    EXPECT_TRUE(fits) << "not announced:\n" << render(diagnostic);
    left.erase(diagnostic.loc.line);
  }
  for (const auto& [line, text] : left) ADD_FAILURE() << "line " << line << ": no error: " << text;
}

// Text and binary forms bring back the same module.
void expect_round_trips(const std::string& text) {
  Result<Module> again = parse("printed", text);
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  EXPECT_EQ(print(*again), text);
  Result<Module> binary = read_binary("binary", write_binary(*again));
  ASSERT_TRUE(binary.ok()) << render(binary.diagnostics());
  EXPECT_EQ(print(*binary), text);
}

class TextRunner : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(TextRunner, GivesTheExpectedText) {
  std::string text = read_test_file(GetParam());
  std::string file = GetParam().filename().string();
  TextCase test = parse_case(text);
  if (!test.errors.empty()) return expect_errors(file, test);
  ASSERT_FALSE(test.command.empty()) << "no line '// run: weft ...' and no '// error: ...'";
  Result<Module> module = parse(file, test.input);
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  std::string before = print(*module);
  expect_round_trips(before);
  Status status = run_command(test.command, *module);
  ASSERT_TRUE(status.ok()) << render(status.diagnostics());
  std::string after = print(*module);
  expect_round_trips(after);
  if (std::getenv("WEFT_UPDATE") != nullptr) {
    std::ofstream(GetParam(), std::ios::binary)
        << with_expected(text, after, test.unchanged && after == before);
    return;
  }
  ASSERT_TRUE(test.has_expect) << "no line '--- expect'; WEFT_UPDATE=1 writes it";
  EXPECT_EQ(after, test.unchanged ? before : test.expected);
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::filesystem::path root = std::filesystem::path(WEFT_SOURCE_DIR) / "tests";
  std::string name = std::filesystem::relative(info.param, root).replace_extension("").string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, TextRunner, testing::ValuesIn(weft_files(WEFT_SOURCE_DIR "/tests")),
                         test_name);

}  // namespace
}  // namespace weft
