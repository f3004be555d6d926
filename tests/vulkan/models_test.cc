// Whole models on a Vulkan device, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "models/zoo.h"
#include "passes/autodiff.h"
#include "tests/support/suite.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

// A small copy of a preset: what it computes is the same.
Module small(const std::string& name) {
  const Preset& preset = *find_preset(name);
  TransformerConfig config = preset.config;
  config.d_model = 64;
  config.heads = 4;
  config.d_ff = 100;
  config.encoder_layers = std::min<int64_t>(config.encoder_layers, 1);
  config.decoder_layers = std::min<int64_t>(config.decoder_layers, 1);
  config.vocab = 1000;
  config.max_length = 32;
  return preset.build_with(config).value();
}

void expect_right(const Module& module, const std::string& graph, const DimBinding& dims) {
  ask_for_validation(/*long_kernels=*/graph == "train_step");
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    expect_agrees(module, dims, 3, mapping, graph);
  }
}

Module with_train_step(Module module) {
  Status added = add_backward(module, {"loss", "loss", {}, "adam"});
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  return module;
}

TEST(ModelsOnVulkan, TrainingStepOfAnEncoderDecoder) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  expect_right(with_train_step(small("transformer-tiny")), "train_step",
               {{"B", 12}, {"S", 20}, {"T", 22}});
}

TEST(ModelsOnVulkan, TrainingStepOfADecoder) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  expect_right(with_train_step(small("gpt-char")), "train_step", {{"B", 2}, {"T", 9}});
}

TEST(ModelsOnVulkan, ForwardOfBert) {
  expect_right(small("bert-base"), "forward", {{"B", 3}, {"T", 17}});
}

}  // namespace
}  // namespace weft
