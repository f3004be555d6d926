// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/compare.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

bool same_real(double actual, double expected, double slack, bool zero_sign) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  if (zero_sign && expected == 0 && actual == 0) {
    return std::signbit(actual) == std::signbit(expected);
  }
  return std::fabs(actual - expected) <= slack;
}

std::string describe_type(const Tensor& tensor) {
  Type type{tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())};
  return type.str();
}

}  // namespace

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (double value : tensor.reals) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

std::string difference(const Tensor& actual, const Tensor& expected,
                       const CompareOptions& options) {
  if (actual.dtype != expected.dtype || actual.shape != expected.shape) {
    return cat("is ", describe_type(actual), ", expected ", describe_type(expected));
  }
  if (!expected.real()) {
    for (size_t i = 0; i < expected.integers.size(); ++i) {
      if (actual.integers[i] != expected.integers[i]) {
        return cat("element ", i, " is ", actual.integers[i], ", expected ", expected.integers[i]);
      }
    }
    return "";
  }
  const double scale = std::min(1.0, largest_finite(expected));
  for (size_t i = 0; i < expected.reals.size(); ++i) {
    const double a = actual.reals[i];
    const double e = expected.reals[i];
    const double slack = options.tolerance.relative * std::fabs(e) +
                         options.tolerance.largest * scale + options.tolerance.absolute +
                         options.absolute;
    if (!same_real(a, e, slack, options.zero_sign)) {
      return cat("element ", i, " is ", format_real(a), ", expected ", format_real(e));
    }
  }
  return "";
}

std::string difference(const TensorMap& actual, const TensorMap& expected, RunBy by, bool zero_sign,
                       DType narrowest) {
  if (actual.size() != expected.size()) {
    return cat(actual.size(), " outputs, expected ", expected.size());
  }
  for (const auto& [name, tensor] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) return cat("output ", name, " is missing");
    Tolerance own = tolerance(by, tensor.dtype);
    Tolerance coarsest = tolerance(by, narrowest);
    if (is_float(tensor.dtype) && coarsest.relative > own.relative) own = coarsest;
    std::string what =
        difference(found->second, tensor, {.tolerance = own, .zero_sign = zero_sign});
    if (!what.empty()) return cat(name, ": ", what);
  }
  return "";
}

}  // namespace weft
