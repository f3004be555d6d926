// What the text form may say, and what it means.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text/parse_type.h"
#include "ir/text/text.h"
#include "tests/support/must_parse.h"

namespace weft {
namespace {

using test::must_parse;

std::string dim_text(const std::string& text) {
  Result<Dim> dim = parse_dim("test", text);
  return dim.ok() ? dim->str() : "error: " + dim.diagnostics()[0].message;
}

TEST(Parser, TypesFollow) {
  Module m = must_parse("graph @f(%x: f32[B, 4]) -> (y) {\n  %y = exp %x\n  return %y\n}\n");
  const Graph& graph = m.graphs[0];
  EXPECT_EQ(graph.type(graph.outputs[0].value).str(), "f32[B, 4]");
  EXPECT_EQ(graph.node(graph.outputs[0].value).names[0], "y");
}

TEST(Parser, NodesKnowTheirPlace) {
  Module m = must_parse(
      "graph @f(%x: f32[2]) -> (y) {\n  %y = exp %x loc \"b\", \"a\", \"b\"\n  return %y\n}");
  const Node& node = m.graphs[0].nodes()[1];
  EXPECT_EQ(node.loc.line, 2u);
  EXPECT_EQ(node.loc.column, 8u);
  EXPECT_EQ(node.loc.length, 3u);
  EXPECT_EQ(node.origin, (Provenance{"a", "b"}));
}

TEST(Parser, BareNumbersTakeTheTypeOfTheFirstOperandThatHasOne) {
  Module m = must_parse(
      "graph @f(%c: bool[2], %x: f16[2]) -> (y) {\n  %y = select %c, 1, %x\n  return %y\n}");
  const Node& constant = m.graphs[0].nodes()[2];
  ASSERT_EQ(constant.op, Op::constant);
  EXPECT_EQ(constant.types[0].str(), "f16[]");
}

TEST(Parser, EqualNumbersAreOneNode) {
  Module m = must_parse(
      "graph @f(%x: f32[2]) -> (y) {\n  %a = add %x, 1\n  %y = mul %a, 1.0\n  return %y\n}");
  EXPECT_EQ(m.graphs[0].nodes().size(), 4u);
}

TEST(Parser, ZeroKeepsItsSign) {
  Module m = must_parse(
      "graph @f(%x: f32[2]) -> (y) {\n  %a = add %x, -0\n  %y = add %a, 0\n  return %y\n}");
  EXPECT_NE(print(m).find("add %x, -0.0"), std::string::npos);
  EXPECT_NE(print(m).find("add %a, 0.0"), std::string::npos);
}

TEST(Parser, LinesMayBreakInBracketsAndAfterCommas) {
  Module m = must_parse(
      "graph @f(\n  %x: f32[2,\n    3],\n  %z: f32[3]\n) -> (\n  y\n) {\n"
      "  %y = add %x,\n    %z\n  return %y\n}");
  EXPECT_EQ(m.graphs[0].inputs().size(), 2u);
}

TEST(Parser, WindowsLineEndsAndByteOrderMark) {
  must_parse("\xef\xbb\xbfgraph @f(%x: f32[2]) -> (y) {\r\n  %y = exp %x\r\n  return %y\r\n}\r\n");
}

TEST(Parser, StatedTypesHoldUnderAssertions) {
  must_parse(
      "assert S == T + 1\ngraph @f(%x: f32[S]) -> (y: f32[T + 1]) {\n"
      "  %y = exp %x : f32[T + 1]\n  return %y\n}");
}

TEST(Parser, Dims) {
  EXPECT_EQ(dim_text("T+1"), "T + 1");
  EXPECT_EQ(dim_text("2*(B*T) - 3"), "2*B*T - 3");
  EXPECT_EQ(dim_text("-T/2"), "-T/2");
  EXPECT_EQ(dim_text("(-T)/2"), "(-T)/2");
  EXPECT_EQ(dim_text("-7/2"), "-3");
  EXPECT_EQ(dim_text("(-7)/2"), "-4");
  EXPECT_EQ(dim_text("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(dim_text("T - 9223372036854775808*B"), "-9223372036854775808*B + T");
  EXPECT_EQ(dim_text("min(T, mod(S, 4*B))"), dim_text(dim_text("min(T, mod(S, 4*B))")));
  EXPECT_EQ(dim_text("min + max"), "max + min");
}

TEST(Parser, WrongDims) {
  for (const char* text : {"", "T +", "9223372036854775808", "1.5", "T/0", "(T", "T)", "a.b", "%x",
                           "min(T)", "9223372036854775807 + 1", "T T"}) {
    EXPECT_TRUE(dim_text(text).starts_with("error: ")) << text << " gave " << dim_text(text);
  }
}

// Each level stands in 16 terms of the next: written out, the tree would have 16^60 leaves.
TEST(Parser, DimsThatWouldExplodeAreAnError) {
  std::string text = "T";
  for (int i = 0; i < 60; ++i) text = "((" + text + ")/S + 1)*(A + B + C + D)*(E + F + G + H)";
  EXPECT_TRUE(dim_text(text).starts_with("error: "));
}

// A step that is quadratic in the length would run into the suite's time limit.
TEST(Parser, LongModulesAreRead) {
  std::string text = "graph @f(%v0: f32[B, T]) -> (y) {\n";
  constexpr int kNodes = 20000;
  for (int i = 0; i < kNodes; ++i) {
    text += "  %v" + std::to_string(i + 1) + " = add %v" + std::to_string(i) + ", 1.0\n";
  }
  text += "  return %v" + std::to_string(kNodes) + "\n}\n";
  Module m = must_parse(text);
  std::string printed = print(m);
  EXPECT_EQ(print(must_parse(printed)), printed);
}

}  // namespace
}  // namespace weft
