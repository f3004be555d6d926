// y += x, one element a workgroup; its numbers are in a uniform buffer.
// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
layout(set = 0, binding = 2) uniform Numbers { uint programs, x_at, y_at; };

void main() {
  uint i = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (i < programs) y[y_at + i] += x[x_at + i];
}
