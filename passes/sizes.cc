// SPDX-License-Identifier: Apache-2.0
#include "passes/sizes.h"

namespace weft {

std::vector<int64_t> all_axes(const Shape& shape) {
  std::vector<int64_t> axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

Shape sizes_along(const Shape& in, const std::vector<int64_t>& axes) {
  Shape sizes;
  for (int64_t axis : axes) sizes.push_back(in[static_cast<size_t>(axis)]);
  return sizes;
}

Shape with_ones(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape result = shape;
  for (int64_t axis : axes) result[static_cast<size_t>(axis)] = 1;
  return result;
}

Value expand_over(Emitter& b, Value reduced, const Shape& shape, const std::vector<int64_t>& axes) {
  return b.broadcast_to(b.reshape_to(reduced, with_ones(shape, axes)), shape);
}

Value add_last_axis(Emitter& b, Value value) {
  Shape shape = b.shape(value);
  shape.push_back(1);
  return b.reshape_to(value, shape);
}

Value integer_scalar(Emitter& b, int64_t value, DType dtype) {
  Numbers numbers{std::vector<int64_t>{value}};
  return b.constant({}, {{"value", numbers}, {"dtype", dtype}});
}

Value count_from(Emitter& b, const Dim& first, const Dim& size, DType dtype) {
  Value all = b.iota({}, {{"shape", Shape{first + size}}, {"dtype", dtype}});
  if (first.is_constant(0)) return all;
  return b.slice({all}, {{"starts", Shape{first}}, {"limits", Shape{first + size}}});
}

namespace {

// A size as a scalar. Where it is no number, or one that the type cannot hold as a constant, it is
// the last element of an iota: a view of an index, not a computation over `size` elements.
Value size_scalar(Emitter& b, const Dim& size, DType dtype) {
  if (size.is_constant()) {
    auto number = static_cast<double>(size.constant());
    if (round_to(dtype, number) == number) return b.scalar(number, dtype);
  }
  return b.reshape_to(count_from(b, size, 1, dtype), {});
}

}  // namespace

Value divide_by_sizes(Emitter& b, Value value, const Shape& sizes) {
  DType dtype = b.type(value).dtype;
  // Numbers make one division; the others divide one by one, so that no product overflows.
  Dim constant = 1;
  std::vector<Dim> divisors;
  for (const Dim& size : sizes) {
    Dim product = constant * size;
    bool joins = product.is_constant() && !product.overflowed();
    if (joins) {
      constant = product;
    } else {
      divisors.push_back(size);
    }
  }
  if (!constant.is_constant(1)) divisors.insert(divisors.begin(), constant);
  for (const Dim& divisor : divisors) value = b.div({value, size_scalar(b, divisor, dtype)});
  return value;
}

}  // namespace weft
