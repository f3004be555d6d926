// Views as strides: what can be followed, and what cannot.
// SPDX-License-Identifier: Apache-2.0
#include "passes/views.h"

#include <gtest/gtest.h>

#include "tests/passes/oracle_support.h"

namespace weft {
namespace {

// The view of a graph's last node, as text: "x + offset [strides]".
std::string view_text(const std::string& text) {
  Module module = test::must_parse(text);
  const Graph& graph = module.graphs.at(0);
  const Value last = graph.outputs.at(0).value;
  const View view = view_of(graph, last, module.dims);
  const Node& base = graph.node(view.base);
  std::string result = base.op == Op::input ? base.attrs.text("name") : std::string(name(base.op));
  if (!view.offset.is_constant(0)) result += " + " + view.offset.str();
  result += " " + str(view.strides);
  EXPECT_EQ(is_free_view(graph, last, module.dims), view.base != last) << text;
  if (is_contiguous(view, graph.type(last).shape, module.dims)) result += " contiguous";
  return result;
}

std::string one_view(const std::string& in, const std::string& body) {
  return view_text("graph @f(%x: f32" + in + ") -> (y) {\n" + body + "\nreturn %y\n}");
}

TEST(Views, InputIsItsOwnBase) {
  EXPECT_EQ(one_view("[B, T, 512]", "%z = exp %x\n%y = neg %z"), "neg [512*T, 512, 1] contiguous");
}

TEST(Views, Transpose) {
  EXPECT_EQ(one_view("[B, T, 512]", "%y = transpose %x {perm = [2, 0, 1]}"), "x [1, 512*T, 512]");
  EXPECT_EQ(one_view("[1, T, 512]", "%y = transpose %x {perm = [1, 0, 2]}"),
            "x [512, 512*T, 1] contiguous");
}

TEST(Views, ReshapeMergesAndSplits) {
  EXPECT_EQ(one_view("[B, T, 512]", "%y = reshape %x {shape = [B*T, 512]}"),
            "x [512, 1] contiguous");
  EXPECT_EQ(one_view("[B, T, 512]", "%y = reshape %x {shape = [B, T, 8, 64]}"),
            "x [512*T, 512, 64, 1] contiguous");
  EXPECT_EQ(one_view("[B*T, 512]", "%y = reshape %x {shape = [B, T, 8, 1, 64]}"),
            "x [512*T, 512, 64, 0, 1] contiguous");
  EXPECT_EQ(one_view("[6, 4]", "%y = reshape %x {shape = [8, 3]}"), "x [3, 1] contiguous");
  EXPECT_EQ(one_view("[]", "%y = reshape %x {shape = [1, 1]}"), "x [0, 0] contiguous");
  EXPECT_EQ(one_view("[0, 3]", "%y = reshape %x {shape = [3, 0]}"), "x [0, 1] contiguous");
}

TEST(Views, HeadsSplitAndMove) {
  const std::string heads =
      "%a = reshape %x {shape = [B, T, 8, 64]}\n%b = transpose %a {perm = [0, 2, 1, 3]}\n";
  EXPECT_EQ(one_view("[B, T, 512]", heads + "%y = transpose %b {perm = [0, 1, 3, 2]}"),
            "x [512*T, 64, 1, 512]");
  EXPECT_EQ(one_view("[B, T, 512]", heads + "%y = reshape %b {shape = [B, 8, T, 4, 16]}"),
            "x [512*T, 64, 512, 16, 1]");
  // Heads cannot be joined with the time axis they were taken from.
  EXPECT_EQ(one_view("[B, T, 512]", heads + "%y = reshape %b {shape = [B*8, T, 64]}"),
            "reshape [64*T, 64, 1] contiguous");
}

TEST(Views, ReshapeOfMovedAxesIsABase) {
  EXPECT_EQ(one_view("[B, 8, T, 64]",
                     "%a = transpose %x {perm = [0, 2, 1, 3]}\n"
                     "%b = reshape %a {shape = [B, T, 512]}\n"
                     "%y = slice %b {starts = [0, 1, 0], limits = [B, T, 512]}"),
            "reshape + 512 [512*T, 512, 1]");
}

TEST(Views, Slice) {
  EXPECT_EQ(one_view("[B, T, 12]",
                     "%y = slice %x {starts = [0, 1, 2], limits = [B, T, 9], "
                     "strides = [1, 1, 3]}"),
            "x + 14 [12*T, 12, 3]");
  EXPECT_EQ(one_view("[T, 8]", "%y = slice %x {starts = [T - 1, 0], limits = [T, 8]}"),
            "x + 8*T - 8 [8, 1] contiguous");
  // Whole rows of a slice lie together, parts of rows do not.
  EXPECT_EQ(one_view("[16, 8]",
                     "%a = slice %x {starts = [4, 0], limits = [12, 8]}\n"
                     "%y = reshape %a {shape = [64]}"),
            "x + 32 [1] contiguous");
  EXPECT_EQ(one_view("[16, 8]",
                     "%a = slice %x {starts = [4, 0], limits = [12, 4]}\n"
                     "%y = reshape %a {shape = [32]}"),
            "reshape [1] contiguous");
}

TEST(Views, Broadcast) {
  EXPECT_EQ(one_view("[1, 64]", "%y = broadcast %x {shape = [B, T, 64]}"), "x [0, 0, 1]");
  EXPECT_EQ(one_view("[64]",
                     "%a = broadcast %x {shape = [B, T, 64]}\n"
                     "%y = reshape %a {shape = [B*T, 64]}"),
            "x [0, 1]");
  EXPECT_EQ(one_view("[T, 1]",
                     "%a = broadcast %x {shape = [T, 4]}\n"
                     "%y = reshape %a {shape = [4*T]}"),
            "reshape [1] contiguous");
}

TEST(Views, AssertedEqualityCounts) {
  EXPECT_EQ(view_text("assert N == B*T\n"
                      "graph @f(%x: f32[N, 8]) -> (y) {\n"
                      "  %y = reshape %x {shape = [B, T, 8]}\n  return %y\n}"),
            "x [8*T, 8, 1] contiguous");
}

TEST(Views, Groups) {
  auto text = [](const Shape& from, const Shape& to) {
    std::string result;
    for (const ReshapeGroup& group : reshape_groups(from, to, {})) {
      for (size_t axis : group.from) result += std::to_string(axis);
      result += ":";
      for (size_t axis : group.to) result += std::to_string(axis);
      result += " ";
    }
    return result;
  };
  const Dim b = Dim::symbol("B");
  const Dim t = Dim::symbol("T");
  EXPECT_EQ(text({b, t, 512}, {b * t, 8, 64}), "01:0 2:12 ");
  EXPECT_EQ(text({b * t, 512}, {b, t, 512}), "0:01 1:2 ");
  EXPECT_EQ(text({1, b, 1, 6}, {b, 2, 3, 1}), "1:0 3:12 ");
  EXPECT_EQ(text({6, 4}, {8, 3}), "01:01 ");
  EXPECT_EQ(text({1, 1}, {}), "");
  EXPECT_EQ(text({0, 3}, {3, 0}), "01:01 ");
}

}  // namespace
}  // namespace weft
