// Small helpers for tests that run graphs on the oracle: tensors, central differences.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ir/oracle/oracle.h"
#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "tests/support/must_parse.h"

namespace weft::test {

inline Tensor reals(std::vector<int64_t> shape, std::vector<double> values,
                    DType dtype = DType::f64) {
  Tensor tensor{dtype, std::move(shape), std::move(values), {}};
  EXPECT_EQ(tensor.size(), static_cast<int64_t>(tensor.reals.size()));
  return tensor;
}

inline Tensor integers(std::vector<int64_t> shape, std::vector<int64_t> values,
                       DType dtype = DType::i32) {
  Tensor tensor{dtype, std::move(shape), {}, std::move(values)};
  EXPECT_EQ(tensor.size(), static_cast<int64_t>(tensor.integers.size()));
  return tensor;
}

// Different numbers in [-1.5, 1.5], away from each other: no ties, no zeros.
inline Tensor spread_reals(std::vector<int64_t> shape, int seed = 1) {
  Tensor tensor = Tensor::zeros(DType::f64, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double angle = 0.7 * static_cast<double>(i * 13 + seed * 5 + 1);
    tensor.reals[static_cast<size_t>(i)] = 1.5 * std::sin(angle * angle + angle);
  }
  return tensor;
}

inline OracleResult must_run(const Module& module, const std::string& graph,
                             const TensorMap& inputs, const TensorMap& storage = {}) {
  const Graph* found = module.find_graph(graph);
  EXPECT_NE(found, nullptr) << "no graph @" << graph;
  if (found == nullptr) return {};
  Result<OracleResult> result = run_oracle(module, *found, inputs, storage);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return result.ok() ? std::move(result).value() : OracleResult{};
}

inline double run_loss(const Module& module, const TensorMap& inputs, const TensorMap& storage) {
  OracleResult result = must_run(module, module.graphs[0].name(), inputs, storage);
  return result.outputs.empty() ? 0.0 : result.outputs.at("loss").at(0);
}

inline void expect_near(const Tensor& actual, const Tensor& expected, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(actual.shape, expected.shape) << what;
  for (int64_t i = 0; i < actual.size(); ++i) {
    double a = actual.at(i);
    double e = expected.at(i);
    if (std::isnan(e) || std::isinf(e)) {
      EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
          << what << "[" << i << "]: " << a << " instead of " << e;
    } else {
      EXPECT_NEAR(a, e, tolerance * std::max(1.0, std::abs(e))) << what << "[" << i << "]";
    }
  }
}

// d loss / d given[name] by central differences of fourth order.
inline Tensor numeric_gradient(const Module& module, TensorMap inputs, TensorMap storage,
                               const std::string& name) {
  TensorMap& home = storage.count(name) > 0 ? storage : inputs;
  Tensor gradient = home.at(name);
  constexpr double kStep = 1e-3;
  for (size_t i = 0; i < gradient.reals.size(); ++i) {
    double& element = home.at(name).reals[i];
    const double centre = element;
    auto loss_at = [&](double steps) {
      element = centre + steps * kStep;
      return run_loss(module, inputs, storage);
    };
    double near = loss_at(1) - loss_at(-1);
    double far = loss_at(2) - loss_at(-2);
    gradient.reals[i] = (8 * near - far) / (12 * kStep);
    element = centre;
  }
  return gradient;
}

// Adds @backward to the module (whose first graph returns `loss`) and holds every grad.NAME to
// central differences. Returns the outputs of @backward.
inline TensorMap check_gradients(const std::string& text, const TensorMap& inputs,
                                 const TensorMap& storage = {}, std::vector<std::string> wrt = {}) {
  Module module = must_parse(text);
  Status added = add_backward(module, {"", "loss", wrt, ""});
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  if (!added.ok()) return {};
  Status verified = verify(module);
  EXPECT_TRUE(verified.ok()) << render(verified.diagnostics());
  TensorMap outputs = must_run(module, "backward", inputs, storage).outputs;
  for (const auto& [name, gradient] : outputs) {
    if (!name.starts_with("grad.")) continue;
    Tensor expected = numeric_gradient(module, inputs, storage, name.substr(5));
    expect_near(gradient, expected, 1e-8, name + " of\n" + text);
  }
  return outputs;
}

}  // namespace weft::test
