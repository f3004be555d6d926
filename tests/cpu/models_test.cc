// Whole models as one executable each, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>

#include "driver/execute.h"
#include "driver/verify_device.h"
#include "models/zoo.h"
#include "passes/autodiff.h"
#include "passes/rounding_noise.h"
#include "passes/sample_inputs.h"
#include "tests/support/same.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

void expect_agrees(const Module& module, const std::string& graph, const DimBinding& dims) {
  for (int threads : {1, 2}) {
    DeviceVerifyOptions options;
    options.common.graph = graph;
    options.common.dims = dims;
    options.common.seed = 3;
    options.threads = threads;
    options.each_region = false;
    Result<DeviceVerifyReport> report = verify_device(module, options);
    ASSERT_TRUE(report.ok()) << render(report.diagnostics());
    EXPECT_EQ(report->difference, "");
    EXPECT_EQ(report->graphs, 1);
  }
}

Module with_train_step(Module module) {
  Status added = add_backward(module, {"loss", "loss", {}, "adam"});
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  return module;
}

TEST(ModelsOnCpu, TrainingStepOfTransformerTiny) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  Module module = with_train_step(find_preset("transformer-tiny")->build().value());
  expect_agrees(module, "train_step", {{"B", 2}, {"S", 5}, {"T", 7}});
}

TEST(ModelsOnCpu, TrainingStepOfGptChar) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  Module module = with_train_step(find_preset("gpt-char")->build().value());
  expect_agrees(module, "train_step", {{"B", 2}, {"T", 9}});
}

// As bert-base but for the widths and the number of layers.
TEST(ModelsOnCpu, ForwardOfBert) {
  const Preset& preset = *find_preset("bert-base");
  TransformerConfig config = preset.config;
  config.d_model = 48;
  config.heads = 4;
  config.d_ff = 100;
  config.encoder_layers = 2;
  config.vocab = 211;
  config.max_length = 32;
  expect_agrees(preset.build_with(config).value(), "forward", {{"B", 3}, {"T", 17}});
}

TEST(ModelsOnCpu, OneExecutableServesTenBindings) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  const Preset& preset = *find_preset("transformer-tiny");
  TransformerConfig config = preset.config;
  config.vocab = 61;
  config.encoder_layers = config.decoder_layers = 1;
  Module module = preset.build_with(config).value();
  const Graph& graph = *module.find_graph("loss");
  Compiled compiled = compile(module, {}).value();
  Executor executor = Executor::create(std::move(compiled.executable), {}).value();
  const TensorMap storage = initial_values(module, &graph, 1).value();
  int bindings = 0;
  for (int64_t b : {1, 2, 5, 16, 33}) {
    for (int64_t length : {3, 17}) {
      const DimBinding dims = {{"B", b}, {"S", length}, {"T", 20 - length}};
      const TensorMap inputs = sample_inputs(module, graph, dims, 1).value();
      OracleResult expected = run_oracle(module, graph, inputs, storage, dims).value();
      Result<OracleResult> got = run_once(executor, graph, inputs, storage, dims);
      ASSERT_TRUE(got.ok()) << render(got.diagnostics());
      const OracleRun run = {module, graph, inputs, storage, dims};
      EXPECT_TRUE(same(compare_but_for_rounding(run, expected, *got, RunBy::device).value()));
      ++bindings;
    }
  }
  EXPECT_EQ(bindings, 10);
  std::cout << "1 compilation, " << bindings << " bindings\n";
}

}  // namespace
}  // namespace weft
