// The upper half of a product.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  uint64_t wide = uint64_t(uint(x[x_at + at()])) << 33;
  y[y_at + at()] = float(uint(wide >> 32));
  who[who_at + at()] = 0;
}
