// Loss and gradients of a miniature Transformer against numbers made with PyTorch
// (make_miniature.py).
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/oracle/oracle.h"
#include "models/transformer.h"
#include "passes/autodiff.h"
#include "test_paths.h"

namespace weft {
namespace {

constexpr double kTolerance = 1e-9;  // of a tensor's largest element
// A bias of the keys adds the same number to all scores of a row, which softmax does not see: its
// gradient is 0, and both sides hold nothing but rounding, of which no digit can agree.
constexpr double kRounding = 1e-15;

TransformerConfig miniature() {
  return {.name = "miniature",
          .d_model = 16,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .heads = 4,
          .d_ff = 32,
          .vocab = 50,
          .dropout = 0,
          .attn_dropout = 0,
          .dtype = DType::f64};
}

Tensor read_tensor(const nlohmann::json& json, DType dtype) {
  Tensor tensor = Tensor::zeros(dtype, json.at("shape").get<std::vector<int64_t>>());
  const nlohmann::json& data = json.at("data");
  EXPECT_EQ(static_cast<int64_t>(data.size()), tensor.size());
  for (size_t i = 0; i < data.size(); ++i) {
    tensor.set(static_cast<int64_t>(i), data[i].get<double>());
  }
  return tensor;
}

TensorMap read_tensors(const nlohmann::json& json, DType dtype) {
  TensorMap tensors;
  for (const auto& [name, tensor] : json.items()) tensors[name] = read_tensor(tensor, dtype);
  return tensors;
}

void expect_close(const Tensor& actual, const Tensor& expected, const std::string& name) {
  ASSERT_EQ(actual.shape, expected.shape) << name;
  double largest = 0;
  double worst = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::isfinite(actual.at(i))) << name << " at " << i;
    largest = std::max(largest, std::abs(expected.at(i)));
    worst = std::max(worst, std::abs(actual.at(i) - expected.at(i)));
  }
  EXPECT_GT(largest, kRounding) << name;
  EXPECT_LE(worst, kTolerance * largest) << name << ", largest element " << largest;
}

void expect_vanishes(const Tensor& tensor, const std::string& name) {
  for (int64_t i = 0; i < tensor.size(); ++i) EXPECT_LE(std::abs(tensor.at(i)), kRounding) << name;
}

TEST(Miniature, LossAndEveryGradientAgreeWithPyTorch) {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/models/miniature.json");
  ASSERT_TRUE(file.good());
  nlohmann::json expected = nlohmann::json::parse(file);

  Result<Module> module = transformer(miniature());
  ASSERT_TRUE(module.ok()) << render(module.diagnostics());
  GradRequest request;
  request.graph = "loss";
  request.loss = "loss";
  Status added = add_backward(*module, request);
  ASSERT_TRUE(added.ok()) << render(added.diagnostics());
  const Graph* backward = module->find_graph("backward");
  ASSERT_NE(backward, nullptr);

  Result<OracleResult> result =
      run_oracle(*module, *backward, read_tensors(expected.at("inputs"), DType::i32),
                 read_tensors(expected.at("params"), DType::f64));
  ASSERT_TRUE(result.ok()) << render(result.diagnostics());

  double loss = expected.at("loss").get<double>();
  EXPECT_NEAR(result->outputs.at("loss").at(0), loss, kTolerance * loss);
  TensorMap grads = read_tensors(expected.at("grads"), DType::f64);
  EXPECT_EQ(grads.size(), module->storage.size());
  for (const Storage& item : module->storage) {
    ASSERT_TRUE(grads.contains(item.name)) << item.name;
    ASSERT_TRUE(result->outputs.contains("grad." + item.name)) << item.name;
    const Tensor& actual = result->outputs.at("grad." + item.name);
    if (item.name.ends_with(".k.bias")) {
      expect_vanishes(actual, item.name);
      expect_vanishes(grads.at(item.name), item.name + " of PyTorch");
    } else {
      expect_close(actual, grads.at(item.name), item.name);
    }
  }
}

}  // namespace
}  // namespace weft
