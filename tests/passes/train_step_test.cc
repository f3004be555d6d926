// What a trainer runs: clipping, the guard against numbers that are not finite, decay,
// accumulation, norms by layer.
// SPDX-License-Identifier: Apache-2.0
#include "passes/train_step.h"

#include <gmock/gmock.h>

#include <limits>

#include "passes/pass.h"
#include "tests/passes/oracle_support.h"

namespace weft::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The gradients are simple: of @w, x^T over the rows; of @b, the number of rows.
constexpr const char* kLinear = R"(module "linear" {
  param @w: f64[3, 2] = ones
  param @b: f64[2] = zeros
  graph @loss(%x: f64[B, 3]) -> (loss) {
    %h = matmul %x, @w
    %y = add %h, @b
    %loss = sum %y {axes = [0, 1]}
    return %loss
  }
})";

TrainRequest request_of(const std::string& optimizer) {
  TrainRequest request;
  request.loss = {"loss", "loss", {}, ""};
  request.settings.optimizer = optimizer;
  request.settings.guard = true;
  return request;
}

Module trained(const TrainRequest& request, const std::string& stop_after = "autodiff") {
  Module module = must_parse(kLinear);
  PipelineOptions pipeline;
  pipeline.pass.train = request;
  pipeline.stop_after = stop_after;
  auto passes = run_pipeline(module, pipeline);
  EXPECT_TRUE(passes.ok()) << render(passes.diagnostics());
  return module;
}

TensorMap number_inputs(Tensor x) {
  TensorMap inputs;
  inputs.emplace("x", std::move(x));
  inputs.emplace("lr", Tensor::scalar(DType::f32, 0.5));
  return inputs;
}

TensorMap initial(const Module& module) {
  Result<TensorMap> storage = initial_values(module, nullptr, 1);
  EXPECT_TRUE(storage.ok());
  return std::move(storage).value();
}

Tensor rows() { return reals({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(TrainStep, ReturnsTheNormOfAllGradients) {
  Module module = trained(request_of("sgd"));
  EXPECT_THAT(module.graph_names(), ElementsAre("train_step"));
  OracleResult result = must_run(module, "train_step", number_inputs(rows()), initial(module));
  // Of @w: columns sum to 5, 7, 9, twice; of @b: 2, 2.
  const double norm = std::sqrt(2 * (25 + 49 + 81) + 2 * 4);
  EXPECT_NEAR(result.outputs.at("grad_norm").at(0), norm, 1e-12);
  EXPECT_EQ(result.outputs.at("loss").at(0), 42);
  EXPECT_NEAR(result.updates.at("b").at(0), -0.5 * 2, 1e-12);
  EXPECT_NEAR(result.updates.at("w").at(0), 1 - 0.5 * 5, 1e-12);
}

TEST(TrainStep, ClippingScalesAllGradientsByOneFactor) {
  TrainRequest request = request_of("sgd");
  request.settings.clip = 3;
  Module module = trained(request);
  OracleResult result = must_run(module, "train_step", number_inputs(rows()), initial(module));
  const double norm = std::sqrt(2 * (25 + 49 + 81) + 2 * 4);
  EXPECT_NEAR(result.outputs.at("grad_norm").at(0), norm, 1e-12);
  const double factor = 3 / (norm + 1e-6);
  EXPECT_NEAR(result.updates.at("w").at(3), 1 - 0.5 * 7 * factor, 1e-12);
  EXPECT_NEAR(result.updates.at("b").at(1), -0.5 * 2 * factor, 1e-12);

  request.settings.clip = 100;  // more than the norm: nothing is scaled
  module = trained(request);
  result = must_run(module, "train_step", number_inputs(rows()), initial(module));
  EXPECT_NEAR(result.updates.at("w").at(3), 1 - 0.5 * 7, 1e-12);
}

TEST(TrainStep, WhatIsNotFiniteChangesNothing) {
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    for (double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      for (const char* stop : {"autodiff", "flatten-optimizer"}) {
        TrainRequest request = request_of(optimizer);
        request.settings.clip = 1;
        Module module = trained(request, stop);
        TensorMap storage = initial(module);
        for (auto& [name, value] : storage) {
          for (int64_t i = 0; i < value.size(); ++i) value.set(i, static_cast<double>(i + 1));
        }
        OracleResult result =
            must_run(module, "train_step", number_inputs(reals({1, 3}, {1, bad, 2})), storage);
        EXPECT_EQ(result.updates.size(), storage.size());
        for (const auto& [name, value] : result.updates) {
          EXPECT_EQ(value.reals, storage.at(name).reals) << optimizer << " " << name;
          EXPECT_EQ(value.integers, storage.at(name).integers) << optimizer << " " << name;
        }
      }
    }
  }
}

TEST(TrainStep, DecaySparesWhatHasOneAxis) {
  TrainRequest request = request_of("adamw");
  request.settings.attrs.set("weight_decay", 0.1);
  request.settings.decay_matrices_only = true;
  Module module = trained(request);
  TensorMap storage = initial(module);
  storage["b"] = reals({2}, {3, 3});
  OracleResult result = must_run(module, "train_step", number_inputs(rows()), storage);
  EXPECT_NEAR(result.updates.at("w").at(0), 1 - 0.5 - 0.5 * 0.1 * 1, 1e-8);
  EXPECT_NEAR(result.updates.at("b").at(0), 3 - 0.5, 1e-8);
}

TEST(TrainStep, FlatStepsAreTheSameSteps) {
  for (const char* optimizer : {"sgd", "adam", "adamw"}) {
    for (bool accumulate : {false, true}) {
      TrainRequest request = request_of(optimizer);
      request.settings.attrs.set("weight_decay", 0.1);
      request.settings.decay_matrices_only = true;
      request.settings.clip = 2;
      request.settings.accumulate = accumulate;
      Module plain = trained(request);
      Module flat = trained(request, "flatten-optimizer");
      EXPECT_NE(print(plain), print(flat));
      TensorMap inputs = number_inputs(rows());
      inputs.emplace("weight", Tensor::scalar(DType::f32, 2));
      inputs.emplace("scale", Tensor::scalar(DType::f32, 0.25));
      if (!accumulate) inputs.erase("weight"), inputs.erase("scale");
      TensorMap storage = initial(plain);
      for (auto& [name, value] : storage) {
        for (int64_t i = 0; i < value.size(); ++i) value.set(i, 1 + 0.5 * static_cast<double>(i));
      }
      OracleResult a = must_run(plain, "train_step", inputs, storage);
      OracleResult b = must_run(flat, "train_step", inputs, storage);
      ASSERT_EQ(a.updates.size(), b.updates.size());
      for (const auto& [name, value] : a.updates) {
        expect_near(b.updates.at(name), value, 1e-12, std::string(optimizer) + " " + name);
      }
    }
  }
}

TEST(TrainStep, AccumulatedGradientsAreThoseOfOneBatch) {
  TrainRequest request = request_of("sgd");
  request.settings.accumulate = true;
  Module module = trained(request);
  EXPECT_THAT(module.graph_names(), ElementsAre("train_step", "accumulate"));
  TensorMap storage = initial(module);
  OracleResult first = must_run(
      module, "accumulate",
      {{"x", reals({1, 3}, {1, 2, 3})}, {"weight", Tensor::scalar(DType::f32, 1)}}, storage);
  EXPECT_EQ(first.updates.size(), 2u);  // of sums alone
  for (const auto& [name, value] : first.updates) storage[name] = value;
  TensorMap inputs = number_inputs(reals({1, 3}, {4, 5, 6}));
  inputs.emplace("weight", Tensor::scalar(DType::f32, 3));
  inputs.emplace("scale", Tensor::scalar(DType::f32, 0.5));
  OracleResult last = must_run(module, "train_step", inputs, storage);
  EXPECT_NEAR(last.updates.at("w").at(0), 1 - 0.5 * (1 * 1 + 3 * 4) * 0.5, 1e-12);
  EXPECT_NEAR(last.updates.at("b").at(0), -0.5 * (1 + 3) * 0.5, 1e-12);
  EXPECT_EQ(last.updates.at("optimizer.grad.w").reals, std::vector<double>(6, 0));
  const double norm = 0.5 * std::sqrt(2 * (13.0 * 13 + 17 * 17 + 21 * 21) + 2 * 16);
  EXPECT_NEAR(last.outputs.at("grad_norm").at(0), norm, 1e-12);
}

TEST(TrainStep, NormsByLayer) {
  TrainRequest request = request_of("adam");
  request.watched = {{"w"}, {"b"}, {"w", "b"}};
  Module module = trained(request);
  OracleResult result = must_run(module, "grad_norms", {{"x", rows()}}, initial(module));
  const Tensor& norms = result.outputs.at("norms");
  ASSERT_EQ(norms.size(), 3);
  EXPECT_NEAR(norms.at(0), std::sqrt(2.0 * (25 + 49 + 81)), 1e-5);
  EXPECT_NEAR(norms.at(1), std::sqrt(8.0), 1e-5);
  EXPECT_NEAR(norms.at(2), std::sqrt(2.0 * (25 + 49 + 81) + 8), 1e-5);
  EXPECT_TRUE(result.updates.empty());

  Module fresh = must_parse(kLinear);
  request.watched = {{"u"}};
  Status status = add_training(fresh, request);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(render(status.diagnostics()), HasSubstr("no parameter 'u'"));
  EXPECT_EQ(fresh.graphs.size(), 1u);
}

}  // namespace
}  // namespace weft::test
