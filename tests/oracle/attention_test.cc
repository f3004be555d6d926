// What holds of every attention, on random inputs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "passes/sample_inputs.h"
#include "tests/support/must_parse.h"
#include "tests/support/same.h"

namespace weft {
namespace {

constexpr int64_t kQueries = 5;
constexpr int64_t kKeys = 7;
constexpr int64_t kHeads = 3;  // all leading axes together

// With a text of further operands (", %mask") and attributes.
Module attention(const std::string& extras, const std::string& attrs) {
  return test::must_parse(
      "graph @f(%q: f64[3, 5, 4], %k: f64[3, 7, 4], %v: f64[3, 7, 2], %bias: f64[3, 5, 7], "
      "%mask: bool[3, 5, 7], %n: i32[3]) -> (out, lse) {\n%out, %lse = attention %q, %k, %v" +
      extras + " {" + attrs + "}\nreturn %out, %lse\n}\n");
}

const std::vector<std::pair<std::string, std::string>>& variants() {
  static const std::vector<std::pair<std::string, std::string>> kVariants = {
      {"", "scale = 0.5"},
      {"", "scale = 0.5, after = 0"},
      {", %bias", "before = 2, after = 1"},
      {", %mask", "fill = -3.5"},
      {", %bias, %mask, %n", "scale = 0.25"},
  };
  return kVariants;
}

TensorMap inputs_of(const Module& module, uint64_t seed) {
  Result<TensorMap> inputs = sample_inputs(module, module.graphs[0], {}, seed);
  EXPECT_TRUE(inputs.ok()) << render(inputs.diagnostics());
  return std::move(inputs).value();
}

TensorMap run(const Module& module, const TensorMap& inputs) {
  Result<OracleResult> result = run_oracle(module, module.graphs[0], inputs, {});
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return std::move(result).value().outputs;
}

// The elements [h, key, i] of a tensor [heads, keys, width] moved to [h, order[key], i].
Tensor with_keys_moved(const Tensor& tensor, const std::vector<int64_t>& order, int64_t outer) {
  Tensor moved = tensor;
  const int64_t width = tensor.size() / outer / kKeys;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t key = i / width % kKeys;
    int64_t to = i + (order[static_cast<size_t>(key)] - key) * width;
    moved.set(to, tensor.at(i));
  }
  return moved;
}

TEST(Attention, WeightsAddUpToOneOrToNothing) {
  for (const auto& [extras, attrs] : variants()) {
    SCOPED_TRACE(extras + " " + attrs);
    Module module = attention(extras, attrs);
    TensorMap inputs = inputs_of(module, 1);
    std::ranges::fill(inputs.at("v").reals, 1.0);
    const TensorMap outputs = run(module, inputs);
    for (double sum : outputs.at("out").reals) {
      if (sum == 0) continue;
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(Attention, DoesNotDependOnTheOrderOfKeys) {
  const std::vector<int64_t> order = {3, 0, 6, 1, 5, 2, 4};
  for (const auto& [extras, attrs] : variants()) {
    bool ordered = attrs.find("after") != std::string::npos || extras.ends_with("%n");
    if (ordered) continue;
    SCOPED_TRACE(extras + " " + attrs);
    Module module = attention(extras, attrs);
    TensorMap inputs = inputs_of(module, 2);
    TensorMap expected = run(module, inputs);
    for (const char* name : {"k", "v"}) {
      inputs.at(name) = with_keys_moved(inputs.at(name), order, kHeads);
    }
    for (const char* name : {"bias", "mask"}) {
      inputs.at(name) = with_keys_moved(inputs.at(name), order, kHeads * kQueries);
    }
    EXPECT_TRUE(same(compare(expected, run(module, inputs), RunBy::oracle)));
  }
}

TEST(Attention, IfCausalDoesNotSeeLaterKeys) {
  Module module = attention("", "scale = 0.5, after = 0");
  TensorMap inputs = inputs_of(module, 3);
  TensorMap before = run(module, inputs);
  // The last key is the last query's alone.
  for (int64_t head = 0; head < kHeads; ++head) {
    inputs.at("k").set((head + 1) * kKeys * 4 - 1, 9);
    inputs.at("v").set((head + 1) * kKeys * 2 - 1, 9);
  }
  TensorMap after = run(module, inputs);
  for (int64_t i = 0; i < before.at("out").size(); ++i) {
    if (i / 2 % kQueries == kQueries - 1) continue;
    EXPECT_EQ(before.at("out").at(i), after.at("out").at(i)) << i;
  }
}

}  // namespace
}  // namespace weft
