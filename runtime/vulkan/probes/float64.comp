// Arithmetic in 64 bits: the small part is lost in 32.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float64 : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  double wide = double(x[x_at + at()]) + double(1 << 30);
  y[y_at + at()] = float(wide - double(1 << 30));
  who[who_at + at()] = 0;
}
