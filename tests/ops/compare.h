// Comparison of tensors within a tolerance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/oracle/oracle.h"
#include "tests/ops/tolerance.h"

namespace weft {

struct CompareOptions {
  Tolerance tolerance = {};
  double absolute = 0;
  bool zero_sign = false;  // -0 and 0 differ
};

double largest_finite(const Tensor& tensor);  // magnitude; 0 if there is none

// Empty if `actual` is `expected` (NaN equals NaN, infinities must be equal), otherwise the first
// difference in words.
std::string difference(const Tensor& actual, const Tensor& expected, const CompareOptions& options);

// The same for all outputs of a run. The tolerance comes from who ran it and each element type, or
// `narrowest`, the narrowest float type on the way, if that is the coarser one.
std::string difference(const TensorMap& actual, const TensorMap& expected, RunBy by,
                       bool zero_sign = false, DType narrowest = DType::f64);

}  // namespace weft
