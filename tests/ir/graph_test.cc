// Building, merging, rebuilding and verifying graphs.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph/emit.h"
#include "ir/graph/rebuild.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Type kVector{DType::f32, {Dim::symbol("B")}};

TEST(Emitter, MergesEqualNodesAndUnitesProvenance) {
  Module module;
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  Emitter b(module, graph);
  b.set_origin({"left"}, {});
  Value first = b.exp({x});
  b.set_origin({"right"}, {});
  Value second = b.exp({x});
  EXPECT_EQ(first, second);
  EXPECT_THAT(graph.node(first).origin, ElementsAre("left", "right"));
}

TEST(Provenance, KeepsTheFirstOriginsInOrder) {
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  Provenance all;
  for (size_t i = 0; i < 2 * kMaxOrigins; ++i) all.push_back(std::to_string(1000 + i));
  Provenance kept(all.begin(), all.begin() + kMaxOrigins);
  for (size_t i = all.size(); i-- > 0;) graph.annotate(x.node, {all[i]});
  EXPECT_EQ(graph.node(x).origin, kept);
  graph.annotate(x.node, all);
  EXPECT_EQ(graph.node(x).origin, kept);
  Provenance late(all.begin() + kMaxOrigins, all.end());
  EXPECT_EQ(unite(late, kept), kept);
  EXPECT_EQ(unite({"a", "c"}, {"b", "c"}), (Provenance{"a", "b", "c"}));
}

TEST(Emitter, ADefaultLeftOutEqualsTheSameWrittenOut) {
  Module module;
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  Emitter b(module, graph);
  EXPECT_EQ(b.softmax({x}), b.softmax({x}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(b.softmax({x}), b.softmax({x}, {{"axis", int64_t{-1}}}));
}

TEST(Emitter, StreamsAndInstancesKeepNodesApart) {
  Module module;
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  Value rng = graph.add_input("rng", {DType::u32, {2}});
  Emitter b(module, graph);
  auto dropped = [&](int64_t stream) {
    return b.dropout({x, rng}, {{"rate", 0.5}, {"stream", stream}});
  };
  EXPECT_EQ(dropped(1), dropped(1));
  EXPECT_NE(dropped(1), dropped(2));
  Node again = graph.node(b.exp({x}));
  again.instance = 1;
  EXPECT_NE(b.emit_node(again), b.exp({x}).node);
}

TEST(Rebuild, DropsDeadNodesAndKeepsInputsAndNames) {
  Module module;
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  graph.add_input("unused", kVector);
  Emitter b(module, graph);
  Value kept = b.exp({x});
  graph.set_value_name(kept, "kept");
  b.log({x});
  graph.outputs = {{"y", kept}};
  Graph clean = rebuild(module, graph);
  EXPECT_EQ(clean.inputs().size(), 2U);
  ASSERT_EQ(clean.nodes().size(), 3U);
  EXPECT_EQ(clean.node(clean.outputs[0].value).names[0], "kept");
}

TEST(Rebuild, ANameFollowsItsValue) {
  Module module;
  Graph graph("g");
  Value x = graph.add_input("x", kVector);
  Emitter b(module, graph);
  Value y = b.exp({x});
  graph.set_value_name(y, "y");
  graph.outputs = {{"out", y}};
  Graph changed =
      rebuild(module, graph, [](Emitter& e, const Node& node, const std::vector<Value>& operands) {
        std::optional<std::vector<Value>> result;
        if (node.op == Op::exp) result = {e.tanh({operands[0]})};
        return result;
      });
  EXPECT_EQ(changed.node(changed.outputs[0].value).op, Op::tanh);
  EXPECT_EQ(changed.node(changed.outputs[0].value).names[0], "y");
}

TEST(Graph, ConstantsHoldNumbersOfTheirType) {
  Module module;
  Graph graph("g");
  Node node;
  node.attrs = {{"value", Numbers{std::vector<double>{0.1}}}, {"dtype", DType::f32}};
  Value value = graph.append(node, module.dims).value();
  EXPECT_EQ(std::get<0>(graph.node(value).attrs.numbers("value").values)[0],
            static_cast<double>(0.1F));
  node.attrs.set("dtype", DType::i32);
  Result<Value> wrong = graph.append(node, module.dims);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.diagnostics()[0].message, HasSubstr("0.1 is not a number of type i32"));
}

TEST(Verify, ReportsEveryIndependentError) {
  Module module;
  module.storage = {{Storage::param, "w", kVector, {}}, {Storage::param, "w", kVector, {}}};
  Graph graph("g");
  Value x = graph.add_input("x", {DType::f32, {2}});
  graph.outputs = {{"y", x}, {"y", x}};
  graph.updates = {{"w", x}, {"nobody", x}};
  module.graphs = {graph};
  Status status = verify(module);
  ASSERT_FALSE(status.ok());
  std::string text = render(status.diagnostics());
  EXPECT_THAT(text, HasSubstr("@w is defined twice"));
  EXPECT_THAT(text, HasSubstr("output y is named twice"));
  EXPECT_THAT(text, HasSubstr("type f32[2] does not match f32[B]"));
  EXPECT_THAT(text, HasSubstr("update of @nobody"));
}

}  // namespace
}  // namespace weft
