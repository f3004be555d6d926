// Elements of 16 bits in a storage buffer.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };

void main() {
  y[y_at + at()] = float(x[x_at + at()]);
  who[who_at + at()] = 0;
}
