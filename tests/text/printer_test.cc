// The text that modules made in memory print, and that it reads back.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/graph/emit.h"
#include "ir/text/text.h"

namespace weft {
namespace {

std::string body(const Module& module, const Graph& graph) {
  std::string text = print(module, graph);
  size_t begin = text.find('\n') + 1;
  return text.substr(begin, text.rfind("  return") - begin);
}

void expect_reads_back(const Module& module) {
  std::string text = print(module);
  Result<Module> again = parse("printed", text);
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  EXPECT_EQ(print(*again), text);
}

TEST(Printer, NumbersUnnamedNodesPerMnemonicAroundGivenNames) {
  Module m;
  Graph g("f");
  Emitter b(m, g);
  Value x = g.add_input("exp1", {DType::f32, {8}});
  Value a = b.exp({x});
  Value c = b.exp({a});
  Value top = b.top_k({c}, {{"k", int64_t{2}}});
  g.outputs = {{"y", {top.node, 1}}};
  m.graphs.push_back(g);
  EXPECT_EQ(body(m, g),
            "  %exp0 = exp %exp1 : f32[8]\n"
            "  %exp2 = exp %exp0 : f32[8]\n"
            "  %top_k0, %top_k0.1 = top_k %exp2 {k = 2} : f32[2], i32[2]\n");
  expect_reads_back(m);
}

TEST(Printer, NamesThatAreTakenTwiceAreStillDistinct) {
  Graph g("f");
  Value x = g.add_input("x", {DType::f32, {8}});
  Module m;
  Emitter b(m, g);
  Value a = b.exp({x});
  Value c = b.neg({x});
  g.set_value_name(a, "v");
  g.set_value_name(c, "v");
  std::vector<std::vector<std::string>> names = value_names(g);
  EXPECT_EQ(names[a.node][0], "%v");
  EXPECT_EQ(names[c.node][0], "%neg0");
}

TEST(Printer, ScalarConstantsStandWhereTheyAreUsed) {
  Module m;
  Graph g("f");
  Emitter b(m, g);
  Value x = g.add_input("x", {DType::f32, {8}});
  Value y = b.add({x, b.scalar(0.125, DType::f32)});
  Value out = b.scalar(2, DType::f32);
  Value z = b.mul({y, out});
  Value w = b.pow({b.scalar(2, DType::f16), b.scalar(3, DType::f16)});
  g.outputs = {{"z", z}, {"c", out}, {"w", w}};
  m.graphs.push_back(g);
  EXPECT_EQ(body(m, g),
            "  %add0 = add %x, 0.125 : f32[8]\n"
            "  %constant0 = constant {value = 2.0, dtype = f32} : f32[]\n"
            "  %mul0 = mul %add0, %constant0 : f32[8]\n"
            "  %pow0 = pow f16(2.0), f16(3.0) : f16[]\n");
  expect_reads_back(m);
}

TEST(Printer, EveryNumberOfEveryTypeReadsBack) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    for (double v :
         {0.0, -0.0, 0.1, 1.0 / 3, 65504.0, 5e-324, 1e-45, 1e300, kInf, -kInf, double{NAN}}) {
      Module m;
      Graph g("f");
      Emitter b(m, g);
      g.outputs = {{"c", b.scalar(v, dtype)}};
      m.graphs.push_back(g);
      Result<Module> again = parse("printed", print(m));
      ASSERT_TRUE(again.ok()) << render(again.diagnostics());
      EXPECT_EQ(again->graphs[0].nodes()[0].attrs, g.nodes()[0].attrs) << print(m);
    }
  }
}

TEST(Printer, LeavesDefaultsOut) {
  Module m;
  Graph g("f");
  Emitter b(m, g);
  Value x = g.add_input("x", {DType::f32, {2, 8}});
  Value last = b.softmax({x}, {{"axis", int64_t{-1}}});
  Value first = b.softmax({last}, {{"axis", int64_t{0}}});
  g.outputs = {{"y", first}};
  m.graphs.push_back(g);
  EXPECT_EQ(body(m, g),
            "  %softmax0 = softmax %x : f32[2, 8]\n"
            "  %softmax1 = softmax %softmax0 {axis = 0} : f32[2, 8]\n");
  expect_reads_back(m);
}

TEST(Printer, ModuleWithoutNameStandsBare) {
  Module m;
  m.dims.bounds["T"] = {1, 8};
  m.storage.push_back({Storage::state, "m", {DType::f32, {}}, {Init::constant, 0.5}});
  Graph g("f");
  g.outputs = {{"m", g.read_param("m", m.storage[0].type)}};
  m.graphs = {g, g};
  m.graphs[1].set_name("g");
  EXPECT_EQ(print(m),
            "dim T in 1..8\n"
            "state @m: f32[] = constant(0.5)\n"
            "graph @f() -> (m: f32[]) {\n  return @m\n}\n"
            "\n"
            "graph @g() -> (m: f32[]) {\n  return @m\n}\n");
  expect_reads_back(m);
}

}  // namespace
}  // namespace weft
