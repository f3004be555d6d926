// Four elements a texel, read as an image.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#include "probe.glsl"
layout(set = 0, binding = 0, rgba32f) readonly uniform imageBuffer x;

void main() {
  vec4 four = imageLoad(x, int((x_at + at()) / 4));
  y[y_at + at()] = four[at() % 4];
  who[who_at + at()] = 0;
}
