// SPDX-License-Identifier: Apache-2.0
#include "passes/formulas.h"

#include <numbers>

namespace weft {

Attrs keep_axis(int64_t axis) { return {{"axes", std::vector<int64_t>{axis}}, {"keepdims", true}}; }

int64_t last_axis(const Shape& shape) { return static_cast<int64_t>(shape.size()) - 1; }

DType compute_type(DType dtype) {
  return is_float(dtype) && byte_size(dtype) == 2 ? DType::f32 : dtype;
}

Value widen(Emitter& b, Value value) { return b.cast_to(value, compute_type(b.type(value).dtype)); }

NormalRows normalise_rows(Emitter& b, Value in, double eps, bool centre) {
  in = widen(b, in);
  Attrs over_row = keep_axis(last_axis(b.shape(in)));
  if (centre) in = b.sub({in, b.mean({in}, over_row)});
  Value square = b.mean({b.mul({in, in})}, over_row);
  Value scale = b.rsqrt({b.add({square, b.like(eps, in)})});
  return {b.mul({in, scale}), scale};
}

double gelu_scale() { return 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi; }

Value gelu_bend(Emitter& b, Value x) {
  Value stretched = b.add({b.like(1, x), b.mul({b.like(kGeluCubic, x), b.mul({x, x})})});
  return b.mul({b.mul({b.like(gelu_scale(), x), x}), stretched});
}

}  // namespace weft
