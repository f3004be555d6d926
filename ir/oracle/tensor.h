// A tensor with numbers in it, as the oracle computes them and files store them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/types/dtype.h"

namespace weft {

// Row-major. Float types hold doubles (not rounded to the type, see oracle.h), integers and bool
// hold 64-bit integers.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<double> reals;      // if is_float(dtype)
  std::vector<int64_t> integers;  // otherwise

  static Tensor zeros(DType dtype, std::vector<int64_t> shape);
  static Tensor scalar(DType dtype, double value);

  int64_t size() const;  // number of elements
  bool real() const { return is_float(dtype); }
  double at(int64_t i) const;         // any type, as a double
  void set(int64_t i, double value);  // any type; rounds towards zero for integers
};

int64_t element_count(const std::vector<int64_t>& shape);
// The same for sizes from outside: nothing if one is negative, or if elements or strides could not
// be counted in bytes within 64 bits (even where another size of 0 makes the tensor empty).
std::optional<int64_t> checked_element_count(const std::vector<int64_t>& shape);
std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);

}  // namespace weft
