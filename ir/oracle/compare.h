// Comparison of results within the tolerance table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ir/oracle/oracle.h"
#include "ir/oracle/tolerance.h"

namespace weft {

// The first place where two results are not the same.
struct Difference {
  std::string output;   // name of an output, or @name of an update
  int64_t element = 0;  // row-major
  double expected = 0;
  double actual = 0;
  std::string failure;  // why nothing can be compared; empty if an element differs

  std::string str() const;  // "y[3] is 1, not 2"
};

double largest_finite(const Tensor& tensor);  // magnitude; 0 if there is none

// The narrowest float type that a graph computes with; f64 if there is none.
DType narrowest_float(const Graph& graph);

// NaN equals NaN, infinities must be equal. `zero_sign`: -0 and 0 differ.
std::optional<Difference> compare(const Tensor& expected, const Tensor& actual, Tolerance tolerance,
                                  bool zero_sign = false);

// By the row of the table for each tensor's element type, or for `narrowest` if that is coarser.
std::optional<Difference> compare(const TensorMap& expected, const TensorMap& actual, RunBy by,
                                  DType narrowest = DType::f64, bool zero_sign = false);
std::optional<Difference> compare(const OracleResult& expected, const OracleResult& actual,
                                  RunBy by, DType narrowest = DType::f64);

}  // namespace weft
