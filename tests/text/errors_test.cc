// Wrong files whose errors have no line of their own; the others are in tests/text/wrong.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text/text.h"

namespace weft {
namespace {

Diagnostics errors_of(const std::string& text) {
  Result<Module> module = parse("test.weft", text);
  EXPECT_FALSE(module.ok()) << text;
  return module.diagnostics();
}

// The only error of a file.
std::string only_error(const std::string& text) {
  Diagnostics errors = errors_of(text);
  EXPECT_EQ(errors.size(), 1u) << render(errors);
  return errors.empty() ? "" : errors[0].message;
}

TEST(TextErrors, NothingThere) {
  for (const char* text : {"", " \n\t\n", "// only a comment\n"}) {
    EXPECT_EQ(only_error(text), "the file holds no module");
  }
}

TEST(TextErrors, CutShort) {
  EXPECT_EQ(only_error("module \"a\" {"), "the file ends inside the module");
  EXPECT_EQ(only_error("module \"a\" {\n  graph @f(%x: f32[2]) -> (y) {"),
            "the file ends inside graph @f");
  EXPECT_EQ(only_error("graph @f(%x: f32["),
            "expected a dim (a number, a symbol or an expression), found the end of the file");
  EXPECT_EQ(only_error("param @w: f32[2] = "),
            "expected an initial value such as zeros or normal(0.02), found the end of the file");
}

TEST(TextErrors, NotText) {
  Diagnostics errors = errors_of("graph @f\n(\xff)");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "byte 10 (0xff) is not valid UTF-8");
  EXPECT_EQ(errors[0].loc.line, 2u);
  EXPECT_EQ(errors[0].loc.column, 2u);
  EXPECT_EQ(only_error("\xc0\x80"), "byte 0 (0xc0) is not valid UTF-8");
  EXPECT_EQ(only_error("\xed\xa0\x80"), "byte 0 (0xed) is not valid UTF-8");
}

TEST(TextErrors, ControlCharacters) {
  EXPECT_FALSE(errors_of(std::string("graph\0@f", 8)).empty());
  EXPECT_FALSE(errors_of(std::string("module \"a\0b\" {}", 15)).empty());
}

TEST(TextErrors, DeepNesting) {
  std::string open(100000, '(');
  EXPECT_EQ(only_error("param @w: f32[" + open + "2]"), "dim nested deeper than 64 parentheses");
  EXPECT_FALSE(errors_of("graph @f() -> (y) {\n %y = iota {shape = " + std::string(100000, '[') +
                         "\n return %y\n}")
                   .empty());
}

TEST(TextErrors, DeepBodies) {
  std::string text = "graph @f(%x: f32[2]) -> (y) {\n";
  auto too_deep = [](const Diagnostic& d) {
    return d.message == "region: more than 3 bodies inside one another" && d.loc.line == 5;
  };
  for (int i = 0; i < 100000; ++i) text += "%y = region {kind = \"map\"} (%x = %x) {\n";
  EXPECT_EQ(std::ranges::count_if(errors_of(text), too_deep), 1);
  for (int i = 0; i < 100000; ++i) text += "return %x\n}\n";
  EXPECT_EQ(std::ranges::count_if(errors_of(text + "return %y\n}\n"), too_deep), 1);
}

TEST(TextErrors, CutShortInABody) {
  EXPECT_EQ(only_error("graph @f(%x: f32[2]) -> (y) {\n  %y = region {kind = \"map\"} (%a = %x) {"),
            "the file ends inside the body of region");
}

TEST(TextErrors, StopAtTwenty) {
  std::string text = "graph @f(%x: f32[2]) -> (y) {\n";
  for (int i = 0; i < 1000; ++i) text += "  %a" + std::to_string(i) + " = nonsense %x\n";
  Diagnostics errors = errors_of(text + "  return %x\n}\n");
  ASSERT_EQ(errors.size(), 21u);
  EXPECT_EQ(errors.back().message, "more than 20 errors: the rest of the file was not checked");
}

TEST(TextErrors, ComeInTheOrderOfTheFile) {
  Diagnostics errors = errors_of(
      "graph @f(%x: f32[2]) -> (y) {\n  %a = gelu %x {approximate = \"t\"}\n  $\n  return %a\n}\n");
  ASSERT_EQ(errors.size(), 2u) << render(errors);
  EXPECT_EQ(errors[0].loc.line, 2u);
  EXPECT_EQ(errors[1].loc.line, 3u);
}

TEST(TextErrors, ShowBothPlaces) {
  Diagnostics errors = errors_of("param @w: f32[2]\nparam @w: f32[3]\ngraph @f() -> () { return }");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].loc.line, 2u);
  ASSERT_EQ(errors[0].notes.size(), 1u);
  EXPECT_EQ(errors[0].notes[0].loc.line, 1u);
}

TEST(TextErrors, WhatVerifyFinds) {
  const char* graph = "graph @f(%x: f32[2]) -> (y) {\n  return %x\n}\n";
  EXPECT_EQ(only_error(std::string(graph) + graph), "graph @f is defined twice");
  EXPECT_NE(only_error("state @s: f32[3]\ngraph @f(%x: f32[2]) -> () {\n"
                       "  update @s = %x\n  return\n}\n")
                .find("does not match"),
            std::string::npos);
}

TEST(TextErrors, LongTextIsCutInMessages) {
  std::string message =
      only_error("graph @f() -> (y) {\n  %y = " + std::string(100000, 'a') + "\n  return %y\n}\n");
  EXPECT_LT(message.size(), 100u);
}

TEST(TextErrors, TooManyOperations) {
  std::string text = "graph @f(%x: f32[2]) -> (y) {\n";
  for (int i = 0; i < 200001; ++i) text += "%a" + std::to_string(i) + "=exp %x\n";
  EXPECT_EQ(only_error(text + "return %x\n}\n"), "the module has more than 200000 operations");
}

std::string repeated(const std::string& item, size_t count) {
  std::string list = item;
  for (size_t i = 1; i < count; ++i) list += "," + item;
  return list;
}

TEST(TextErrors, LongLists) {
  std::string outputs = repeated("a", 200001);
  EXPECT_EQ(only_error("graph @f(%x: f32[2]) -> (" + outputs + ") {"),
            "the module has more than 200000 outputs and updates");
  std::string start = "graph @f(%x: f32[2]) -> (y) {\n  ";
  EXPECT_EQ(only_error(start + "%y = concat " + repeated("%x", 65537)), "more than 65536 operands");
  EXPECT_EQ(only_error(start + repeated("%y", 65537) + " = exp %x"),
            "more than 65536 results of one line");
  EXPECT_EQ(only_error(start + "%y = exp %x : " + repeated("f32[2]", 65537)),
            "more than 65536 types of one line");
  EXPECT_EQ(only_error(start + "%y = exp %x loc " + repeated("\"a\"", 257)),
            "more than 256 origins of one line");
  EXPECT_EQ(only_error(start + "%y = sum %x {axes = [" + repeated("0", 65537) + "]}"),
            "more than 65536 items in a list");
}

TEST(TextErrors, UpdatesAreCountedOverAllGraphs) {
  std::string text = "state @s: f32[2]\n";
  for (int graph = 0; graph < 2; ++graph) {
    text += "graph @f" + std::to_string(graph) + "(%x: f32[2]) -> () {\n";
    for (int i = 0; i < 100001; ++i) text += "update @s=%x\n";
    text += "return\n}\n";
  }
  EXPECT_EQ(only_error(text), "the module has more than 200000 outputs and updates");
}

TEST(TextErrors, ReturnOfTooManyValues) {
  EXPECT_EQ(only_error("graph @f(%x: f32[2]) -> (y) {\n  return %x, %x, %x\n}\n"),
            "graph @f has 1 output, but 3 values are returned");
}

}  // namespace
}  // namespace weft
