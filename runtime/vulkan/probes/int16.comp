// Arithmetic modulo 65536.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  uint16_t narrow = uint16_t(uint(x[x_at + at()]));
  y[y_at + at()] = float(uint(narrow * uint16_t(2000)));
  who[who_at + at()] = 0;
}
