// What passes for rounding, and what does not.
// SPDX-License-Identifier: Apache-2.0
#include "passes/rounding_noise.h"

#include <gtest/gtest.h>

#include "tests/support/must_parse.h"

namespace weft {
namespace {

// Whether each element of result `name` of a graph on x may be off by `error`.
bool forgiven(const std::string& text, const std::vector<double>& x, const std::string& name,
              double error) {
  Module module = test::must_parse(text);
  Tensor input = Tensor::zeros(DType::f32, {static_cast<int64_t>(x.size())});
  input.reals = x;
  const TensorMap inputs = {{"x", input}};
  const TensorMap storage;
  const DimBinding dims;
  const Graph& graph = module.graphs[0];
  const OracleResult expected = run_oracle(module, graph, inputs, storage, dims).value();
  OracleResult got = expected;
  for (double& element : got.outputs[name].reals) element += error;
  for (int64_t& element : got.outputs[name].integers) element += static_cast<int64_t>(error);
  const OracleRun run = {module, graph, inputs, storage, dims};
  return !compare_but_for_rounding(run, expected, got, RunBy::device).value();
}

const std::string kGraph =
    "graph @f(%x: f32[4]) -> (y, sum, at) {\n  %y = exp %x\n  %sum = sum %x {axes = [0]}\n"
    "  %at = argmax %x {axis = 0}\n  return %y, %sum, %at\n}";

TEST(RoundingNoise, AWrongNumberStaysWrong) {
  EXPECT_FALSE(forgiven(kGraph, {0, 1, 2, 3}, "y", 1e-3));
  EXPECT_FALSE(forgiven(kGraph, {0, 1, 2, 3}, "sum", 1e-3));
}

TEST(RoundingNoise, ARoundingIsForgiven) {
  EXPECT_TRUE(forgiven(kGraph, {0, 1, 2, 3}, "sum", 1e-7));
}

// 1000 + 1 - 1000 - 1 may come out as some roundings of 1000, and as no more.
TEST(RoundingNoise, WhatCancelsOutIsAsGoodAsWhatWasAdded) {
  const std::vector<double> x = {1000, 1, -1000, -1};
  EXPECT_TRUE(forgiven(kGraph, x, "sum", 1e-4));
  EXPECT_FALSE(forgiven(kGraph, x, "sum", 1e-1));
}

TEST(RoundingNoise, AnOrderIsForgivenOnlyWhereRoundingMakesIt) {
  EXPECT_FALSE(forgiven(kGraph, {0, 1, 2, 3}, "at", 1));
}

}  // namespace
}  // namespace weft
