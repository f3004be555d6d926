// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/tensor.h"

#include <utility>

namespace weft {

Tensor Tensor::zeros(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  auto count = static_cast<size_t>(element_count(tensor.shape));
  if (tensor.real()) {
    tensor.reals.resize(count);
  } else {
    tensor.integers.resize(count);
  }
  return tensor;
}

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor tensor = zeros(dtype, {});
  tensor.set(0, value);
  return tensor;
}

int64_t Tensor::size() const {
  return static_cast<int64_t>(real() ? reals.size() : integers.size());
}

double Tensor::at(int64_t i) const {
  auto index = static_cast<size_t>(i);
  return real() ? reals[index] : static_cast<double>(integers[index]);
}

void Tensor::set(int64_t i, double value) {
  auto index = static_cast<size_t>(i);
  if (real()) {
    reals[index] = value;
  } else {
    integers[index] = to_integer(dtype, value);
  }
}

int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::optional<int64_t> checked_element_count(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = INT64_MAX / 8;  // no element takes more than 8 bytes
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count) || count > kMost) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace weft
