// Arithmetic modulo 256.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  uint8_t narrow = uint8_t(uint(x[x_at + at()]));
  y[y_at + at()] = float(uint(narrow * uint8_t(5)));
  who[who_at + at()] = 0;
}
