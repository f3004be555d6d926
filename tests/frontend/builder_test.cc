// The builder: what it makes, and that mistakes end in an error from finish() and never in a crash.
// SPDX-License-Identifier: Apache-2.0
#include "frontend/builder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/nn.h"
#include "ir/oracle/oracle.h"
#include "ir/text/text.h"

namespace weft {
namespace {

const Type kScalars{DType::f32, {}};

Type f32(Shape shape) { return {DType::f32, std::move(shape)}; }
Type i32(Shape shape) { return {DType::i32, std::move(shape)}; }

std::string first_error(ModelBuilder& m) {
  Result<Module> module = m.finish();
  return module.ok() ? "" : render(module.diagnostics()[0]);
}

TEST(Builder, PrintsAsWritten) {
  ModelBuilder m("ffn");
  Dim batch = m.dim("B", 1, 64);
  m.begin_graph("forward");
  Var x = m.input("x", f32({batch, 4}));
  {
    Scope scope = m.scope("ffn");
    x = relu(nn::linear(x, "up", 8)) * 0.5;
  }
  m.output("y", x);
  Result<Module> module = m.finish();
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  EXPECT_EQ(print(*module),
            R"(module "ffn" {
  dim B in 1..64
  param @ffn.up.weight: f32[4, 8] = xavier_uniform
  param @ffn.up.bias: f32[8] = zeros
  graph @forward(%x: f32[B, 4]) -> (y: f32[B, 8]) {
    %matmul0 = matmul %x, @ffn.up.weight : f32[B, 8] loc "ffn.up"
    %add0 = add %matmul0, @ffn.up.bias : f32[B, 8] loc "ffn.up"
    %relu0 = relu %add0 : f32[B, 8] loc "ffn"
    %y = mul %relu0, 0.5 : f32[B, 8] loc "ffn"
    return %y
  }
}
)");
}

TEST(Builder, NumbersTakeTheTypeOfTheOtherOperand) {
  ModelBuilder m("numbers");
  m.begin_graph("forward");
  Var i = m.input("i", i32({3}));
  Var x = m.input("x", {DType::f64, {3}});
  m.output("a", i + 1);
  m.output("b", 1.0 / x);
  m.output("c", select(gt(i, 0), x, -1));
  Result<Module> module = m.finish();
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  Tensor ti = Tensor::zeros(DType::i32, {3});
  ti.integers = {-1, 0, 5};
  Tensor tx = Tensor::zeros(DType::f64, {3});
  tx.reals = {1, 2, 4};
  Result<OracleResult> result = run_oracle(*module, module->graphs[0], {{"i", ti}, {"x", tx}}, {});
  ASSERT_TRUE(result.ok()) << render(result.diagnostics());
  EXPECT_EQ(result->outputs.at("a").integers, (std::vector<int64_t>{0, 1, 6}));
  EXPECT_EQ(result->outputs.at("b").reals, (std::vector<double>{1, 0.5, 0.25}));
  EXPECT_EQ(result->outputs.at("c").reals, (std::vector<double>{-1, -1, 4}));
}

TEST(Builder, ParametersAreSharedBetweenGraphs) {
  ModelBuilder m("shared");
  for (const char* graph : {"forward", "loss"}) {
    m.begin_graph(graph);
    m.output("y", nn::linear(m.input("x", f32({2, 3})), "fc", 4));
  }
  Result<Module> module = m.finish();
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  EXPECT_EQ(module->storage_names(), (std::vector<std::string>{"fc.weight", "fc.bias"}));
}

TEST(Builder, StateAndUpdate) {
  ModelBuilder m("counter");
  m.begin_graph("step");
  Var count = m.state("count", i32({}), {Init::zeros});
  m.update("count", count + 1);
  m.output("count", count);
  Result<Module> module = m.finish();
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  EXPECT_EQ(module->storage[0].kind, Storage::state);
  EXPECT_EQ(module->graphs[0].updates.size(), 1u);
}

TEST(Builder, SeveralResults) {
  ModelBuilder m("top");
  m.begin_graph("forward");
  auto [values, indices] = top_k(m.input("x", f32({5})), 2);
  m.output("values", values);
  m.output("indices", indices);
  Result<Module> module = m.finish();
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  EXPECT_EQ(module->graphs[0].type(module->graphs[0].outputs[1].value), i32({2}));
}

TEST(Builder, SinusoidalPositionsFollowTheFormula) {
  ModelBuilder m("positions");
  m.begin_graph("forward");
  m.output("p", nn::sinusoidal_positions(m, 7, 6, DType::f64));
  Module module = m.finish().value();
  Result<OracleResult> result = run_oracle(module, module.graphs[0], {}, {});
  ASSERT_TRUE(result.ok()) << render(result.diagnostics());
  const Tensor& p = result->outputs.at("p");
  ASSERT_EQ(p.shape, (std::vector<int64_t>{7, 6}));
  for (int t = 0; t < 7; ++t) {
    for (int i = 0; i < 3; ++i) {
      double angle = t / std::pow(10000.0, 2.0 * i / 6);
      EXPECT_NEAR(p.at(t * 6 + 2 * i), std::sin(angle), 1e-12);
      EXPECT_NEAR(p.at(t * 6 + 2 * i + 1), std::cos(angle), 1e-12);
    }
  }
}

TEST(Builder, MeanWhereCountsWhatIsKept) {
  ModelBuilder m("mean");
  m.begin_graph("forward");
  m.output("y", nn::mean_where(m.input("keep", {DType::boolean, {4}}), m.input("x", f32({4}))));
  Module module = m.finish().value();
  Tensor x = Tensor::zeros(DType::f32, {4});
  x.reals = {1, NAN, 5, 7};
  Tensor keep = Tensor::zeros(DType::boolean, {4});
  keep.integers = {1, 0, 1, 0};
  auto mean = [&] {
    return run_oracle(module, module.graphs[0], {{"keep", keep}, {"x", x}}, {})
        .value()
        .outputs.at("y")
        .at(0);
  };
  EXPECT_EQ(mean(), 3);
  keep.integers = {0, 0, 0, 0};
  EXPECT_EQ(mean(), 0);
}

TEST(BuilderErrors, FirstOneIsKeptWithItsPlace) {
  ModelBuilder m("wrong");
  m.begin_graph("forward");
  Var x = m.input("x", f32({2, 3}));
  Var y;
  {
    Scope scope = m.scope("encoder.0");
    y = matmul(x, x);
  }
  EXPECT_FALSE(y.valid());
  EXPECT_EQ(y.dim(-1), Dim(1));
  y = nn::layer_norm(nn::linear(softmax(y) + 1.0, "fc", 4), "norm");
  m.output("y", nn::merge_heads(nn::split_heads(y, 3)));
  std::string text = first_error(m);
  EXPECT_NE(text.find("error: matmul: "), std::string::npos) << text;
  EXPECT_NE(text.find("in graph @forward, encoder.0"), std::string::npos) << text;
}

TEST(BuilderErrors, SameParameterWithAnotherType) {
  ModelBuilder m("wrong");
  m.begin_graph("forward");
  m.param("w", f32({2}), {Init::zeros});
  m.output("w", m.param("w", f32({3}), {Init::zeros}));
  std::string text = first_error(m);
  EXPECT_NE(text.find("@w is param f32[2] = zeros, asked for again as param f32[3] = zeros"),
            std::string::npos)
      << text;
}

TEST(BuilderErrors, ValueOfAnotherGraphOrModel) {
  ModelBuilder m("wrong");
  m.begin_graph("forward");
  Var x = m.input("x", kScalars);
  m.output("y", x);
  m.begin_graph("loss");
  m.output("y", exp(x));
  EXPECT_NE(first_error(m).find("exp: operand 0 belongs to graph @forward"), std::string::npos);

  ModelBuilder a("a");
  ModelBuilder b("b");
  a.begin_graph("forward");
  b.begin_graph("forward");
  a.output("y", a.input("x", kScalars) + b.input("x", kScalars));
  EXPECT_NE(first_error(a).find("add: operand 1 belongs to another model"), std::string::npos);
}

TEST(BuilderErrors, NothingThere) {
  ModelBuilder empty("empty");
  EXPECT_NE(first_error(empty).find("model empty has no graph"), std::string::npos);

  ModelBuilder no_output("no_output");
  no_output.begin_graph("forward");
  EXPECT_NE(first_error(no_output).find("graph @forward has no output"), std::string::npos);

  ModelBuilder no_graph("no_graph");
  Var x = no_graph.input("x", kScalars);
  EXPECT_FALSE(exp(x).valid());
  EXPECT_NE(first_error(no_graph).find("input x outside of a graph"), std::string::npos);

  ModelBuilder no_value("no_value");
  no_value.begin_graph("forward");
  no_value.output("y", exp(Var()) + 1.0);
  EXPECT_NE(first_error(no_value).find("output y has no value"), std::string::npos);
}

TEST(BuilderErrors, NumbersThatDoNotFit) {
  ModelBuilder fraction("fraction");
  fraction.begin_graph("forward");
  fraction.output("y", fraction.input("i", i32({2})) * 0.5);
  EXPECT_NE(first_error(fraction).find("0.5 is not a number of type i32"), std::string::npos);

  ModelBuilder untyped("untyped");
  untyped.begin_graph("forward");
  untyped.output("y", select(untyped.input("c", {DType::boolean, {2}}), 1.5, 0));
  EXPECT_NE(first_error(untyped).find("select: the element type of 1.5 is not known"),
            std::string::npos);

  ModelBuilder infinite("infinite");
  infinite.begin_graph("forward");
  infinite.output("y", infinite.input("i", i32({2})) + INFINITY);
  EXPECT_NE(first_error(infinite), "");
}

TEST(BuilderErrors, NamesAreChecked) {
  ModelBuilder twice("twice");
  twice.begin_graph("forward");
  twice.input("x", kScalars);
  twice.output("y", twice.input("x", kScalars));
  EXPECT_NE(first_error(twice).find("input x is defined twice"), std::string::npos);

  ModelBuilder bytes("bytes");
  bytes.begin_graph("forward");
  bytes.output("y", bytes.input("a\xff", kScalars));
  EXPECT_NE(first_error(bytes).find("input: byte 1 of the name is not UTF-8"), std::string::npos);

  ModelBuilder nameless("nameless");
  nameless.begin_graph("forward");
  nameless.output("", nameless.input("x", kScalars));
  EXPECT_NE(first_error(nameless).find("output without a name"), std::string::npos);

  ModelBuilder symbol("symbol");
  symbol.dim("B*2");
  EXPECT_NE(first_error(symbol).find("dim 'B*2' is not a name"), std::string::npos);

  ModelBuilder bounds("bounds");
  bounds.dim("B", 1, 4);
  bounds.dim("B", 1, 8);
  EXPECT_NE(first_error(bounds).find("dim B has bounds 1..4, asked for again with 1..8"),
            std::string::npos);
}

TEST(BuilderErrors, ValuesOutliveFinish) {
  ModelBuilder m("done");
  m.begin_graph("forward");
  Var x = m.input("x", f32({2}));
  m.output("y", exp(x));
  ASSERT_TRUE(m.finish().ok());
  EXPECT_FALSE(x.valid());
  EXPECT_FALSE((x + 1.0).valid());
  m.begin_graph("again");  // must not bring x back
  EXPECT_FALSE(x.valid());
  EXPECT_FALSE(m.finish().ok());
}

}  // namespace
}  // namespace weft
