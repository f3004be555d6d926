// Arithmetic in 16 bits.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  float16_t narrow = float16_t(x[x_at + at()]);
  y[y_at + at()] = float(narrow * float16_t(3) + float16_t(0.5));
  who[who_at + at()] = 0;
}
