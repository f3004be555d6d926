// Formulas that a gradient and a decomposition share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph/emit.h"

namespace weft {

// The attributes of a reduction over one axis that stays, with size 1.
Attrs keep_axis(int64_t axis);
int64_t last_axis(const Shape& shape);

// 16-bit floats cannot hold constants such as 1e-9 or 0.999: ops that have them compute in f32 and
// round their results. Other types compute in themselves.
DType compute_type(DType dtype);
Value widen(Emitter& b, Value value);

// A row of `in` (widened) scaled to a mean square of 1, after taking its mean away if `centre`.
struct NormalRows {
  Value normal;
  Value scale;  // [.., 1]: what the row was multiplied with
};
NormalRows normalise_rows(Emitter& b, Value in, double eps, bool centre);

// gelu's tanh form, 0.5 * x * (1 + tanh(u)), is x * sigmoid(2 u), which is one exponential and
// loses nothing where tanh(u) is near -1; gelu_bend is 2 u.
inline constexpr double kGeluCubic = 0.044715;
double gelu_scale();                   // 2 sqrt(2 / pi)
Value gelu_bend(Emitter& b, Value x);  // scale * x * (1 + cubic * x^2)

}  // namespace weft
