// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/elements.h"

#include <cmath>
#include <limits>

namespace weft {

EvalResult single(Tensor tensor) {
  std::vector<Tensor> results;
  results.push_back(std::move(tensor));
  return results;
}

Sizes broadcast_strides(const Sizes& shape, const Sizes& to) {
  WEFT_CHECK(shape.size() <= to.size(), "broadcasting does not lower the rank");
  Sizes own = row_major_strides(shape);
  Sizes strides(to.size(), 0);
  size_t added = to.size() - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    bool same = shape[axis] == to[added + axis];
    WEFT_CHECK(same || shape[axis] == 1, "only a size of 1 stretches");
    if (same) strides[added + axis] = own[axis];
  }
  return strides;
}

Rows rows_along(const Sizes& shape, int64_t axis) {
  Rows rows;
  for (size_t i = 0; i < shape.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    (at < axis ? rows.outer : at == axis ? rows.size : rows.inner) *= shape[i];
  }
  return rows;
}

double LogSumExp::log_p(double x) const {
  bool masked = largest == -std::numeric_limits<double>::infinity();
  return masked ? largest : (x - largest) - log_rest;
}

LogSumExp log_sum_exp(const std::vector<double>& x, const Rows& rows, int64_t o, int64_t i) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < rows.size; ++k) largest = nan_max(x[rows.at(o, k, i)], largest);
  if (!std::isfinite(largest)) return {largest, 0};
  double sum = 0;
  for (int64_t k = 0; k < rows.size; ++k) sum += std::exp(x[rows.at(o, k, i)] - largest);
  return {largest, std::log(sum)};
}

std::string place(const Sizes& shape, int64_t i) {
  Sizes at = row_major_strides(shape);
  for (int64_t& stride : at) {
    int64_t rest = i % stride;
    stride = i / stride;
    i = rest;
  }
  return str(at);
}

std::string str(const Sizes& sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return out + "]";
}

}  // namespace weft
