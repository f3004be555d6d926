// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/compare.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

bool same_real(double expected, double actual, double slack, bool zero_sign) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  if (zero_sign && expected == 0 && actual == 0) {
    return std::signbit(actual) == std::signbit(expected);
  }
  return std::fabs(actual - expected) <= slack;
}

std::string describe_type(const Tensor& tensor) {
  return Type{tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())}.str();
}

Difference cannot_compare(std::string failure) {
  Difference difference;
  difference.failure = std::move(failure);
  return difference;
}

}  // namespace

std::string Difference::str() const {
  if (!failure.empty()) return cat(output, " ", failure);
  return cat(output, "[", element, "] is ", format_real(actual), ", not ", format_real(expected));
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (double value : tensor.reals) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

DType narrowest_float(const Graph& graph) {
  DType narrowest = DType::f64;
  auto meet = [&](DType dtype) {
    if (is_float(dtype) && dtype > narrowest) narrowest = dtype;  // in order of precision
  };
  for (const Node& node : graph.nodes()) {
    for (const Type& type : node.types) meet(type.dtype);
    if (node.body != nullptr) meet(narrowest_float(*node.body));
  }
  return narrowest;
}

std::optional<Difference> compare(const Tensor& expected, const Tensor& actual, Tolerance tolerance,
                                  bool zero_sign) {
  if (actual.dtype != expected.dtype || actual.shape != expected.shape) {
    return cannot_compare(cat("is ", describe_type(actual), ", not ", describe_type(expected)));
  }
  const double rest =
      tolerance.largest * std::min(1.0, largest_finite(expected)) + tolerance.absolute;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const auto k = static_cast<size_t>(i);
    bool same = false;
    if (expected.real()) {
      const double wanted = expected.reals[k];
      same = same_real(wanted, actual.reals[k], tolerance.relative * std::fabs(wanted) + rest,
                       zero_sign);
    } else {
      same = actual.integers[k] == expected.integers[k];
    }
    if (!same) return Difference{"", i, expected.at(i), actual.at(i), ""};
  }
  return std::nullopt;
}

std::optional<Difference> compare(const TensorMap& expected, const TensorMap& actual, RunBy by,
                                  DType narrowest, bool zero_sign) {
  auto named = [](const std::string& name, Difference difference) {
    difference.output = name;
    return difference;
  };
  for (const auto& [name, tensor] : actual) {
    if (!expected.contains(name)) return named(name, cannot_compare("is new"));
  }
  for (const auto& [name, tensor] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) return named(name, cannot_compare("is gone"));
    Tolerance allowed = tolerance(by, tensor.dtype);
    const Tolerance coarsest = tolerance(by, narrowest);
    if (is_float(tensor.dtype) && coarsest.relative > allowed.relative) allowed = coarsest;
    if (auto difference = compare(tensor, found->second, allowed, zero_sign)) {
      return named(name, *std::move(difference));
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare(const OracleResult& expected, const OracleResult& actual,
                                  RunBy by, DType narrowest) {
  if (auto difference = compare(expected.outputs, actual.outputs, by, narrowest)) return difference;
  auto difference = compare(expected.updates, actual.updates, by, narrowest);
  if (difference) difference->output = "@" + difference->output;
  return difference;
}

}  // namespace weft
