// SPDX-License-Identifier: Apache-2.0
#include "driver/rounding_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "passes/decompose.h"
#include "passes/pass.h"

namespace weft {
namespace {

constexpr int kRuns = 2;        // with everything off by one rounding, up or down
constexpr double kMargin = 32;  // long sums round at each step, and two runs miss the worst case

// The distance from 1 to the next number.
double step_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f64: return 0x1p-52;
    default: return 0x1p-23;
  }
}

// The smallest number above 0: below the normal ones steps get no smaller.
double least_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-24;
    case DType::bf16: return 0x1p-133;
    case DType::f64: return 0x1p-1074;
    default: return 0x1p-149;
  }
}

class Roundings {
 public:
  void disturb(Tensor& tensor) {
    const double step = step_of(tensor.dtype);
    const double least = least_of(tensor.dtype);
    for (double& element : tensor.reals) {
      if (element == 0 || !std::isfinite(element)) continue;
      const double most = std::max(step * std::abs(element), least);
      element += most * share_(random_) * (random_() % 2 == 0 ? 1 : -1);
    }
  }

  TensorMap disturbed(TensorMap tensors) {
    for (auto& [name, tensor] : tensors) disturb(tensor);
    return tensors;
  }

 private:
  std::minstd_rand random_{1};
  std::uniform_real_distribution<double> share_{0.5, 1};  // so that no two cancel out
};

// Whose results are not rounded, since nothing is computed.
bool is_exact(const Node& node) {
  const OpInfo& op = info(node.op);
  return op.has(kView) || op.has(kRandom) || node.operands.empty();
}

// By name of the tensor. Integers that hang on a rounding (the order of numbers that are equal but
// for it) may be any.
using Noise = std::map<std::string, double>;

void measure(const TensorMap& expected, const TensorMap& moved, Noise& noise) {
  for (const auto& [name, tensor] : expected) {
    if (tensor.integers != moved.at(name).integers) {
      noise[name] = std::numeric_limits<double>::infinity();
    }
    const std::vector<double>& others = moved.at(name).reals;
    for (size_t i = 0; i < tensor.reals.size(); ++i) {
      double distance = std::abs(others[i] - tensor.reals[i]);
      if (std::isfinite(distance)) noise[name] = std::max(noise[name], kMargin * distance);
    }
  }
}

void forgive(const TensorMap& expected, const Noise& noise, TensorMap& got) {
  for (auto& [name, tensor] : got) {
    auto found = expected.find(name);
    if (found == expected.end() || found->second.shape != tensor.shape) continue;
    if (found->second.dtype != tensor.dtype || !noise.contains(name)) continue;
    if (!tensor.real()) tensor.integers = found->second.integers;
    for (size_t i = 0; i < tensor.reals.size(); ++i) {
      const double wanted = found->second.reals[i];
      const double distance = std::abs(tensor.reals[i] - wanted);
      if (distance <= noise.at(name)) tensor.reals[i] = wanted;
    }
  }
}

}  // namespace

Result<OracleResult> without_noise(const OracleRun& run, const OracleResult& expected,
                                   OracleResult got) {
  // A composite op rounds on the way too.
  Module primitive = run.module;
  WEFT_TRY(bool changed, decompose(primitive, {}));
  const Graph& graph = changed ? *primitive.find_graph(run.graph.name()) : run.graph;
  Roundings roundings;
  auto disturb = [&](const Node& node, Tensor& result) {
    if (!is_exact(node)) roundings.disturb(result);
  };
  Noise outputs;
  Noise updates;
  for (int i = 0; i < kRuns; ++i) {
    TensorMap inputs = roundings.disturbed(run.inputs);
    TensorMap storage = roundings.disturbed(run.storage);
    WEFT_TRY(OracleResult moved,
             run_oracle(primitive, graph, inputs, storage, run.dims, {}, disturb));
    measure(expected.outputs, moved.outputs, outputs);
    measure(expected.updates, moved.updates, updates);
  }
  forgive(expected.outputs, outputs, got.outputs);
  forgive(expected.updates, updates, got.updates);
  return got;
}

}  // namespace weft
