// transformer-tiny takes the steps that PyTorch takes: torch_losses.json, by make_torch_losses.py.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/train/device.h"
#include "driver/train/options.h"
#include "test_paths.h"
#include "tests/support/suite.h"

namespace weft::train {
namespace {

constexpr int64_t kBatches = 10;
constexpr int64_t kRows = 8;
constexpr int64_t kLength = 12;
constexpr double kRate = 8e-8;

// The formulas stand in make_torch_losses.py.
uint32_t hash(uint64_t p, uint64_t i) {
  auto x = static_cast<uint32_t>(i * 2654435761ULL + p * 40503ULL);
  x = (x ^ (x >> 16)) * 0x85EBCA6BU;
  x = (x ^ (x >> 13)) * 0xC2B2AE35U;
  return x ^ (x >> 16);
}

double weight(const std::string& name, const Type& type, uint64_t p, uint64_t i) {
  if (name.ends_with(".gain")) return 1;
  if (name.ends_with(".bias")) return 0;
  const auto rows = static_cast<double>(type.shape[0].constant());
  const auto columns = static_cast<double>(type.shape[1].constant());
  const bool table = name.starts_with("embedding");
  const double limit = table ? std::sqrt(3 / columns) : std::sqrt(6 / (rows + columns));
  return static_cast<float>(limit * (hash(p, i) / 2147483648.0 - 1));
}

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

std::vector<int32_t> sentence(uint64_t k, uint64_t row, uint64_t base) {
  std::vector<int32_t> ids(3 + hash(1000 + k, row) % (kLength - 3));
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(4 + hash(base + k, 64 * row + i) % 60);
  }
  return ids;
}

HostTensors batch(uint64_t k) {
  HostTensors inputs;
  for (const char* name : {"src", "tgt", "labels"})
    inputs[name] = {DType::i32, {kRows, kLength}, {}};
  for (uint64_t row = 0; row < kRows; ++row) {
    std::vector<int32_t> source = sentence(k, row, 2000);
    std::vector<int32_t> target = sentence(k, row, 3000);
    std::vector<int32_t> labels = target;
    target.insert(target.begin(), 2);
    labels.push_back(3);
    for (auto [name, ids] : {std::pair("src", &source), {"tgt", &target}, {"labels", &labels}}) {
      ids->resize(kLength, 0);
      for (int32_t id : *ids) append(inputs[name].bytes, id);
    }
  }
  return inputs;
}

struct Reference {
  std::vector<std::string> parameters;
  std::vector<double> losses;
};

Reference read_reference() {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/train/torch_losses.json");
  nlohmann::json json = nlohmann::json::parse(file);
  return {json["parameters"].get<std::vector<std::string>>(),
          json["losses"].get<std::vector<double>>()};
}

// Sets every parameter by the formula.
void set_weights(const Module& module, const Reference& reference, TrainDevice& device) {
  size_t seen = 0;
  for (size_t p = 0; p < reference.parameters.size(); ++p) {
    const std::string& name = reference.parameters[p];
    const Storage* item = module.find_storage(name);
    ASSERT_NE(item, nullptr) << name;
    std::vector<std::byte> bytes;
    const auto count = static_cast<uint64_t>(element_count(item->type.shape).constant());
    for (uint64_t i = 0; i < count; ++i) {
      const double value = weight(name, item->type, p, i);
      if (item->type.dtype == DType::f64) {
        append(bytes, value);
      } else {
        append(bytes, static_cast<float>(value));
      }
    }
    ASSERT_TRUE(device.set_storage(name, bytes).ok());
    ++seen;
  }
  size_t params = 0;
  for (const Storage& item : module.storage) params += item.kind == Storage::param ? 1 : 0;
  ASSERT_EQ(seen, params);
}

// The largest difference of a loss over the steps.
double follow(const std::string& device_name, DType dtype, int64_t steps) {
  TrainOptions options = default_options("transformer-tiny").value();
  options.model.dtype = dtype;
  options.model.dropout = options.model.attn_dropout = 0;
  TrainRequest request;
  request.loss = {"loss", "loss", {}, ""};
  request.settings = options.settings();
  Result<Module> module = differentiate_for(build_model(options).value(), request);
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  std::erase_if(module->graphs, [](const Graph& g) { return g.name() != "train_step"; });
  auto device = open_device(*module, {device_name, "native", 2, 1});
  EXPECT_TRUE(device.ok()) << render(device.diagnostics());
  const Reference reference = read_reference();
  set_weights(*module, reference, **device);

  HostTensors numbers = {{"lr", {DType::f32, {}, {}}}};
  HostTensors outputs;
  double worst = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    numbers["lr"].bytes.clear();
    append(numbers["lr"].bytes, static_cast<float>(kRate * static_cast<double>(step)));
    Status status =
        (*device)->run("train_step", batch(static_cast<uint64_t>((step - 1) % kBatches)), numbers,
                       {{"B", kRows}, {"S", kLength}, {"T", kLength}}, outputs);
    EXPECT_TRUE(status.ok()) << render(status.diagnostics());
    const std::vector<std::byte>& bytes = outputs["loss"].bytes;
    double wide = 0;
    float narrow = 0;
    std::memcpy(dtype == DType::f64 ? static_cast<void*>(&wide) : &narrow, bytes.data(),
                bytes.size());
    const double loss = dtype == DType::f64 ? wide : narrow;
    worst = std::max(worst, std::abs(loss - reference.losses[static_cast<size_t>(step) - 1]));
  }
  return worst;
}

TEST(Torch, TheOracleFollowsInDouble) {
  const int64_t steps = suite() == "quick" ? 1 : 20;
  EXPECT_LT(follow("oracle", DType::f64, steps), 1e-9);
}

TEST(Torch, TheCpuFollowsInSingle) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  EXPECT_LT(follow("cpu", DType::f32, 200), 1e-3);
}

}  // namespace
}  // namespace weft::train
