// What the evaluators share: access to a tensor's elements, and walks over them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/oracle/eval.h"

namespace weft {

using Sizes = std::vector<int64_t>;

// The elements of a tensor, T being how it holds them: double or int64_t.
template <class T, class AnyTensor>
auto& elements(AnyTensor& tensor) {
  if constexpr (std::is_same_v<T, double>) {
    return tensor.reals;
  } else {
    return tensor.integers;
  }
}

// Calls fn(T{}) with the T of `elements` that fits the tensor.
template <class Fn>
auto by_storage(const Tensor& tensor, Fn fn) {
  return tensor.real() ? fn(double{}) : fn(int64_t{});
}

// Sums and products of integers are formed without sign, where overflow wraps around.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;

// The number that an element of type `dtype` keeps of a result.
inline double settle(DType, double value) { return value; }
inline int64_t settle(DType dtype, uint64_t value) {
  return wrap_to(dtype, static_cast<int64_t>(value));
}

EvalResult single(Tensor tensor);  // the results of an op that has one

// Strides of a tensor of `shape` stretched to `to`: 0 along the axes that repeat.
Sizes broadcast_strides(const Sizes& shape, const Sizes& to);

// Calls fn(i, offsets) for each element number i of `shape` in row-major order; offsets[n] is the
// element's place under the n-th strides.
template <size_t N, class Fn>
void walk(const Sizes& shape, const std::array<Sizes, N>& strides, Fn fn) {
  const int64_t count = element_count(shape);
  Sizes at(shape.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t i = 0; i < count; ++i) {
    fn(static_cast<size_t>(i), offsets);
    for (size_t axis = shape.size(); axis-- > 0;) {
      for (size_t n = 0; n < N; ++n) offsets[n] += strides[n][axis];
      if (++at[axis] < shape[axis]) break;
      for (size_t n = 0; n < N; ++n) offsets[n] -= strides[n][axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

// A shape seen from one axis: `outer` and `inner` are the products of the sizes before and after.
struct Rows {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;

  bool empty() const { return outer == 0 || size == 0 || inner == 0; }
  size_t at(int64_t o, int64_t k, int64_t i) const {
    return static_cast<size_t>((o * size + k) * inner + i);
  }
};
Rows rows_along(const Sizes& shape, int64_t axis);

// Calls fn(outer, inner) for each row along the axis. Rows without elements are left out: they take
// no memory, so there can be more of them than anyone can wait for.
template <class Fn>
void for_each_row(const Rows& rows, Fn fn) {
  if (rows.empty()) return;
  for (int64_t o = 0; o < rows.outer; ++o) {
    for (int64_t i = 0; i < rows.inner; ++i) fn(o, i);
  }
}

// An order in which a NaN is larger than every number.
inline bool larger(double a, double b) {
  if (a != a) return b == b;
  return a > b;
}
inline bool larger(int64_t a, int64_t b) { return a > b; }

// The larger or smaller one; NaN if either is.
inline double nan_max(double a, double b) { return a != a || a > b ? a : b; }
inline double nan_min(double a, double b) { return a != a || a < b ? a : b; }

// log(sum(exp(x))) over one row, as largest element + logarithm of the rest: kept apart, a large
// element does not swallow the logarithm.
struct LogSumExp {
  double largest = 0;
  double log_rest = 0;

  double log_p(double x) const;  // x - largest - log_rest; -inf in a row of nothing but -inf
};
LogSumExp log_sum_exp(const std::vector<double>& x, const Rows& rows, int64_t o, int64_t i);

// "[1, 2]": the coordinates of element number `i`, or the text of a shape.
std::string place(const Sizes& shape, int64_t i);
std::string str(const Sizes& sizes);

}  // namespace weft
