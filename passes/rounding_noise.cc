// SPDX-License-Identifier: Apache-2.0
#include "passes/rounding_noise.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "passes/decompose.h"
#include "passes/pass.h"

namespace weft {
namespace {

constexpr int kRuns = 8;  // with everything off by one rounding, up or down

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
  // The oracle itself computes in double, whatever the types.
  explicit Roundings(RunBy by) : in_double_(by == RunBy::oracle || by == RunBy::passes) {}

  void disturb(Tensor& tensor) {
    const DType dtype = in_double_ ? DType::f64 : tensor.dtype;
    const double step = step_of(dtype);
    const double least = least_of(dtype);
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
  bool in_double_;
  std::minstd_rand random_{1};
  std::uniform_real_distribution<double> share_{0.5, 1};  // so that no two cancel out
};

// Whose results are not rounded, since nothing is computed.
bool is_exact(const Node& node) {
  const OpInfo& op = info(node.op);
  return op.has(kView) || op.has(kRandom) || node.operands.empty();
}

// What the numbers of a tensor move by, and the places of the integers that hang on a rounding: the
// order of numbers that are equal but for it.
struct Moved {
  double most = 0;
  std::set<size_t> integers;
};

using Noise = std::map<std::string, Moved>;

void measure(const TensorMap& expected, const TensorMap& moved, Noise& noise) {
  for (const auto& [name, tensor] : expected) {
    Moved& here = noise[name];
    const Tensor& other = moved.at(name);
    for (size_t i = 0; i < tensor.integers.size(); ++i) {
      if (tensor.integers[i] != other.integers[i]) here.integers.insert(i);
    }
    for (size_t i = 0; i < tensor.reals.size(); ++i) {
      const double distance = std::abs(other.reals[i] - tensor.reals[i]);
      if (std::isfinite(distance)) here.most = std::max(here.most, distance);
    }
  }
}

// `got` with the expected number in each place where the difference may be noise.
TensorMap forgive(const TensorMap& expected, const Noise& noise, TensorMap got) {
  for (auto& [name, tensor] : got) {
    auto found = expected.find(name);
    if (found == expected.end() || found->second.shape != tensor.shape) continue;
    if (found->second.dtype != tensor.dtype) continue;
    const Moved& moved = noise.at(name);
    for (size_t i : moved.integers) tensor.integers[i] = found->second.integers[i];
    for (size_t i = 0; i < tensor.reals.size(); ++i) {
      const double wanted = found->second.reals[i];
      if (std::abs(tensor.reals[i] - wanted) <= kNoiseMargin * moved.most) tensor.reals[i] = wanted;
    }
  }
  return got;
}

}  // namespace

Result<std::optional<Difference>> compare_but_for_rounding(const OracleRun& run,
                                                           const OracleResult& expected,
                                                           const OracleResult& actual, RunBy by) {
  const DType narrowest = narrowest_float(run.graph);
  if (!compare(expected, actual, by, narrowest)) return std::optional<Difference>();
  // A composite op rounds on the way too, and so does attention, however it is run.
  Module primitive = run.module;
  PassOptions apart;
  apart.fuse_attention = false;
  WEFT_TRY(bool changed, decompose(primitive, apart));
  const Graph& graph = changed ? *primitive.find_graph(run.graph.name()) : run.graph;
  Roundings roundings(by);
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
  return compare(expected,
                 {forgive(expected.outputs, outputs, actual.outputs),
                  forgive(expected.updates, updates, actual.updates)},
                 by, narrowest);
}

}  // namespace weft
