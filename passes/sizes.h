// Pieces of graph about sizes and axes that gradient rules and decompositions share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/graph/emit.h"

namespace weft {

std::vector<int64_t> all_axes(const Shape& shape);
// What a reduction of `in` over `axes` reduced, as sizes.
Shape sizes_along(const Shape& in, const std::vector<int64_t>& axes);
// `shape` with 1 at `axes`: what a reduction with keepdims leaves.
Shape with_ones(const Shape& shape, const std::vector<int64_t>& axes);
// The value of a reduction over `axes` (with or without keepdims), repeated over `shape` again.
Value expand_over(Emitter& b, Value reduced, const Shape& shape, const std::vector<int64_t>& axes);
// [..] -> [.., 1].
Value add_last_axis(Emitter& b, Value value);

// A scalar constant of an integer type, exact beyond 2^53.
Value integer_scalar(Emitter& b, int64_t value, DType dtype);
// `size` numbers from `first` on: first, first + 1, ..
Value count_from(Emitter& b, const Dim& first, const Dim& size, DType dtype);
// value / (product of sizes), whether the sizes are numbers or known only when they are bound.
Value divide_by_sizes(Emitter& b, Value value, const Shape& sizes);

}  // namespace weft
