// Nodes with a body: merging, inlining, symbols, flops and what verify finds.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph/flops.h"
#include "ir/graph/rebuild.h"
#include "ir/text/text.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Dim N = Dim::symbol("N");
const Dim R = Dim::symbol("R");
const Type kRows{DType::f32, {N, 4}};

// exp(x), or something else of x.
std::shared_ptr<const Graph> unary_body(Op op, const std::string& name = "x",
                                        const Type& type = kRows) {
  Module module;
  Graph body;
  Value x = body.add_input(name, type);
  Emitter b(module, body);
  Value y = b.emit(op, {x});
  body.set_value_name(y, name + ".out");
  body.outputs = {{body_output_name(0), y}};
  return std::make_shared<const Graph>(std::move(body));
}

const Attrs kMap = {{"kind", std::string("map")}};

Attrs chunk_attrs(const std::string& symbol) {
  return {{"symbol", symbol},
          {"rows", N},
          {"chunk", int64_t{3}},
          {"sliced_in", std::vector<int64_t>{1}},
          {"sliced_out", std::vector<int64_t>{1}}};
}

struct Fixture {
  Module module;
  Graph graph{"g"};
  Value x = graph.add_input("x", kRows);
  Emitter b{module, graph};

  void finish(const std::vector<Value>& results) {
    for (Value value : results) {
      graph.outputs.push_back({"y" + std::to_string(graph.outputs.size()), value});
    }
    module.graphs = {graph};
  }
};

TEST(Region, EqualBodiesMergeWhateverTheirNames) {
  Fixture f;
  f.b.set_origin({"left"}, {});
  Value first = f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::exp, "x"))[0];
  f.b.set_origin({"right"}, {});
  EXPECT_EQ(f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::exp, "y"))[0], first);
  EXPECT_THAT(f.graph.node(first).origin, ElementsAre("left", "right"));
  EXPECT_NE(f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::tanh))[0], first);
  Attrs rows = {{"kind", std::string("rows")}};
  EXPECT_NE(f.b.emit_body(Op::region, {f.x}, rows, unary_body(Op::exp))[0], first);
}

TEST(Region, RebuildKeepsBodies) {
  Fixture f;
  f.finish(f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::exp)));
  Graph again = rebuild(f.module, f.graph);
  EXPECT_EQ(again[1].body, f.graph[1].body);
  EXPECT_TRUE(same_graph(f.graph, again));
  Fixture other;
  other.finish(other.b.emit_body(Op::region, {other.x}, kMap, unary_body(Op::tanh)));
  EXPECT_FALSE(same_graph(f.graph, other.graph));
}

TEST(Region, InliningGivesTheBodysNodes) {
  Fixture f;
  f.b.set_origin({"block"}, {});
  Value y = f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::exp))[0];
  std::vector<Value> inlined = inline_region(f.b, Node(f.graph.node(y)), {f.x});
  ASSERT_EQ(inlined.size(), 1u);
  EXPECT_EQ(f.graph.node(inlined[0]).op, Op::exp);
  EXPECT_THAT(f.graph.node(inlined[0]).origin, ElementsAre("block"));
  EXPECT_EQ(f.graph.node(inlined[0]).operands, std::vector<Value>{f.x});
}

// A deliberate recomputation stays one.
TEST(Region, InliningKeepsInstancesApart) {
  Fixture f;
  Value plain = f.b.exp({f.x});
  Node node;
  node.op = Op::region;
  node.operands = {f.x};
  node.attrs = kMap;
  node.body = unary_body(Op::exp);
  node.instance = 1;
  std::vector<Value> inlined = inline_region(f.b, node, {f.x});
  EXPECT_NE(inlined[0], plain);
  EXPECT_EQ(f.graph.node(inlined[0]).instance, 1u);
}

TEST(Chunked, ItsSymbolStaysInside) {
  Fixture f;
  f.finish(f.b.emit_body(Op::chunked, {f.x}, chunk_attrs("R"),
                         unary_body(Op::exp, "x", {DType::f32, {R, 4}})));
  EXPECT_THAT(symbols_of(f.graph[1]), ElementsAre("N"));
  EXPECT_THAT(symbols_of(f.module), ElementsAre("N"));
  EXPECT_EQ(f.graph[1].types[0], kRows);
  Status status = verify(f.module);
  EXPECT_TRUE(status.ok()) << render(status.diagnostics());
}

TEST(Flops, OfBodiesAreCounted) {
  Fixture f;
  Value y = f.b.emit_body(Op::region, {f.x}, kMap, unary_body(Op::exp))[0];
  f.finish(f.b.emit_body(Op::chunked, {y}, chunk_attrs("R"),
                         unary_body(Op::tanh, "x", {DType::f32, {R, 4}})));
  EXPECT_EQ(count_flops(f.module, f.graph, {{"N", 7}}).value(), 2 * 7 * 4);
  EXPECT_FALSE(count_flops(f.module, f.graph, {}).ok());
}

std::string refusal(const Module& module, Graph& graph, Node node) {
  Result<Value> value = graph.append(std::move(node), module.dims);
  EXPECT_FALSE(value.ok());
  return value.ok() ? "" : value.diagnostics()[0].message;
}

Node region_of(Value x, Graph body) {
  Node node;
  node.op = Op::region;
  node.operands = {x};
  node.attrs = kMap;
  node.body = std::make_shared<const Graph>(std::move(body));
  return node;
}

TEST(Region, RefusesWrongBodies) {
  Fixture f;
  Node bare = region_of(f.x, Graph());
  bare.body = nullptr;
  EXPECT_EQ(refusal(f.module, f.graph, bare), "region: has no body");
  EXPECT_EQ(refusal(f.module, f.graph, region_of(f.x, Graph())),
            "region: the body returns nothing");

  Graph reads;
  reads.add_input("x", kRows);
  reads.outputs = {{"0", reads.read_param("w", kRows)}};
  EXPECT_EQ(refusal(f.module, f.graph, region_of(f.x, reads)), "region: the body reads @w");

  Graph updates;
  Value x = updates.add_input("x", kRows);
  updates.outputs = {{"0", x}};
  updates.updates = {{"w", x}};
  EXPECT_EQ(refusal(f.module, f.graph, region_of(f.x, updates)), "region: the body updates @w");

  Graph more;
  more.outputs = {{"0", more.add_input("x", kRows)}};
  more.add_input("y", kRows);
  EXPECT_EQ(refusal(f.module, f.graph, region_of(f.x, more)),
            "region: 1 operand for a body with 2 inputs");
}

// A body around `inner`, which takes and gives x.
Graph nest(const std::string& symbol, const Dim& rows, const std::shared_ptr<const Graph>& inner,
           const Module& module) {
  Graph body;
  Value x = body.add_input("x", {DType::f32, {rows, 4}});
  Emitter b(module, body);
  Attrs attrs = chunk_attrs(symbol);
  attrs.set("rows", rows);
  body.outputs = {{"0", b.emit_body(Op::chunked, {x}, attrs, inner)[0]}};
  return body;
}

TEST(Chunked, BodiesNestThreeDeep) {
  Fixture f;
  const Dim Q = Dim::symbol("Q");
  const Dim P = Dim::symbol("P");
  auto innermost = unary_body(Op::exp, "x", {DType::f32, {P, 4}});
  auto middle = std::make_shared<const Graph>(nest("P", Q, innermost, f.module));
  auto outer = std::make_shared<const Graph>(nest("Q", R, middle, f.module));
  Node node;
  node.op = Op::chunked;
  node.operands = {f.x};
  node.attrs = chunk_attrs("R");
  node.body = outer;
  EXPECT_TRUE(f.graph.append(node, f.module.dims).ok());
  auto one_more = std::make_shared<const Graph>(nest("R", Dim::symbol("O"), outer, f.module));
  node.attrs = chunk_attrs("O");
  node.body = one_more;
  EXPECT_EQ(refusal(f.module, f.graph, node), "chunked: bodies lie 4 deep; the limit is 3");
}

TEST(Chunked, RefusesSymbolsThatMeanSomethingElse) {
  Fixture f;
  Node node;
  node.op = Op::chunked;
  node.operands = {f.x};
  node.attrs = chunk_attrs("R");
  node.body = unary_body(Op::exp, "x", {DType::f32, {R, 4}});
  f.module.dims.bounds["R"] = {1, 2};
  EXPECT_EQ(refusal(f.module, f.graph, node),
            "chunked: chunks have 1 to 3 rows, but the bounds of R are 1 and 2");
  f.module.dims.bounds["R"] = {1, 3};
  EXPECT_TRUE(f.graph.append(node, f.module.dims).ok());
  f.module.dims.assert_equal(R, N);
  EXPECT_THAT(refusal(f.module, f.graph, node), HasSubstr("the module asserts something of R"));
  Fixture g;
  node.body = std::make_shared<const Graph>(nest("R", N, node.body, g.module));
  node.attrs.set("sliced_in", std::vector<int64_t>{0});
  EXPECT_EQ(refusal(g.module, g.graph, node), "chunked: the body has another chunked over R");
}

TEST(Verify, LooksIntoBodies) {
  Fixture f;
  Graph body;
  Value x = body.add_input("x", kRows);
  Emitter b(f.module, body);
  Value y = b.exp({x});
  Value z = b.tanh({y});
  body.set_value_name(y, "same");
  body.set_value_name(z, "same");
  body.outputs = {{"0", z}};
  f.finish(f.b.emit_body(Op::region, {f.x}, kMap, std::make_shared<const Graph>(body)));
  Status status = verify(f.module);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diagnostics()[0].message, "graph @g, body of region: %same is defined twice");
}

}  // namespace
}  // namespace weft
