// @observe: which values enter and leave a layer, and the weights of attention.
// SPDX-License-Identifier: Apache-2.0
#include "passes/observe.h"

#include <gmock/gmock.h>

#include <cmath>

#include "passes/pass.h"
#include "tests/passes/oracle_support.h"

namespace weft::test {
namespace {

using ::testing::ElementsAre;

OracleResult run(Module module, const Observation& seen, const TensorMap& inputs) {
  module.graphs.push_back(seen.graph);
  EXPECT_TRUE(verify(module).ok()) << render(verify(module).diagnostics());
  Result<TensorMap> storage = initial_values(module, nullptr, 1);
  EXPECT_TRUE(storage.ok());
  auto result = run_oracle(module, *module.find_graph(kObserve), inputs, *storage);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return std::move(result).value();
}

// The mask is not an activation, nor is the transposed parameter.
TEST(Observe, RootMeanSquaresOfWhatEntersAndLeaves) {
  const Module module = must_parse(R"(module "two" {
  param @s: f32[] = constant(1)
  param @w0: f32[2, 2] = ones
  param @w1: f32[2, 3] = constant(2)
  graph @forward(%x: f32[B, 2], %mask: f32[B, 2]) -> (y) {
    %in = mul %x, @s loc "embed"
    %h = matmul %in, @w0 loc "a.0.up.first"
    %m = add %h, %mask loc "a.0.up"
    %t = transpose @w1 {perm = [1, 0]} loc "a.1"
    %tt = transpose %t {perm = [1, 0]} loc "a.1"
    %y = matmul %m, %tt loc "a.1"
    return %y
  }
})");
  const Observation seen = make_observe(module, module.graphs[0], {"a.0", "a.1", "b", "a.0.up"});
  ASSERT_EQ(seen.layers.size(), 2u);  // "a.0" holds nothing that "a.0.up" does not
  EXPECT_EQ(seen.layers[0].name, "a.1");
  EXPECT_TRUE(seen.layers[0].has_input);
  EXPECT_FALSE(seen.layers[0].keeps_type);
  EXPECT_EQ(seen.layers[1].name, "a.0.up");
  EXPECT_TRUE(seen.layers[1].keeps_type);
  EXPECT_TRUE(seen.attentions.empty());
  TensorMap inputs;
  inputs.emplace("x", reals({1, 2}, {3, 4}, DType::f32));
  inputs.emplace("mask", reals({1, 2}, {-2, -4}, DType::f32));
  const OracleResult result = run(module, seen, inputs);
  // in = [3, 4]; m = [7 - 2, 7 - 4]; y = 16 three times.
  EXPECT_NEAR(result.outputs.at(kInputNorms).reals[0], std::sqrt(17), 1e-6);
  EXPECT_NEAR(result.outputs.at(kOutputNorms).reals[0], 16, 1e-6);
  EXPECT_NEAR(result.outputs.at(kInputNorms).reals[1], std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(result.outputs.at(kOutputNorms).reals[1], std::sqrt(17), 1e-6);
}

TEST(Observe, WhatIsSharedByLayersBelongsToNone) {
  const Module module = must_parse(R"(module "shared" {
  param @w: f32[2, 2] = ones
  graph @forward(%x: f32[B, 2]) -> (y, z) {
    %s = matmul %x, @w loc "a.0.f", "a.1.f"
    %y = exp %s loc "a.0.f"
    %z = tanh %s loc "a.1.f"
    return %y, %z
  }
})");
  const Observation seen = make_observe(module, module.graphs[0], {"a.0.f", "a.1.f"});
  ASSERT_EQ(seen.layers.size(), 2u);
  EXPECT_TRUE(seen.layers[0].has_input);
  EXPECT_TRUE(seen.layers[1].keeps_type);
}

// Attention spelt out, causal, in two heads.
TEST(Observe, WeightsOfAttentionThatWasRaised) {
  Module module = must_parse(R"(module "attention" {
  graph @forward(%ids: i32[B, T], %x: f32[B, 2, T, 4]) -> (y) {
    %k = transpose %x {perm = [0, 1, 3, 2]} loc "a.0.attn"
    %scores = matmul %x, %k loc "a.0.attn"
    %mask = causal_mask {rows = T, cols = T} loc "a.0.attn"
    %kept = select %mask, %scores, -inf loc "a.0.attn"
    %p = softmax %kept loc "a.0.attn"
    %y = matmul %p, %x loc "a.0.attn"
    return %y
  }
})");
  PipelineOptions pipeline;
  pipeline.stop_after = "raise";
  ASSERT_TRUE(run_pipeline(module, pipeline).ok());
  const Observation seen = make_observe(module, *module.find_graph("forward"), {"a.0.attn"});
  ASSERT_EQ(seen.attentions.size(), 1u);
  EXPECT_EQ(seen.attentions[0].name, "a.0.attn");
  EXPECT_EQ(seen.attentions[0].row_input, "ids");
  EXPECT_EQ(seen.attentions[0].column_input, "ids");
  EXPECT_TRUE(seen.layers.empty());  // no parameter, no activation
  std::vector<double> x(2 * 3 * 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  TensorMap inputs;
  inputs.emplace("ids", integers({1, 3}, {1, 2, 3}));
  inputs.emplace("x", reals({1, 2, 3, 4}, x, DType::f32));
  const OracleResult result = run(module, seen, inputs);
  const Tensor& weights = result.outputs.at(seen.attentions[0].output);
  EXPECT_THAT(weights.shape, ElementsAre(1, 2, 3, 3));
  for (size_t head = 0; head < 2; ++head) {
    for (size_t row = 0; row < 3; ++row) {
      std::vector<double> expected(3, 0);
      double sum = 0;
      for (size_t key = 0; key <= row; ++key) {
        double score = 0;
        for (size_t d = 0; d < 4; ++d)
          score += x[(head * 3 + row) * 4 + d] * x[(head * 3 + key) * 4 + d];
        sum += expected[key] = std::exp(score);
      }
      for (size_t key = 0; key < 3; ++key) {
        EXPECT_NEAR(weights.reals[(head * 3 + row) * 3 + key], expected[key] / sum, 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
