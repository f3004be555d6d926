// Rows of x, times two. One workgroup a row.
// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Numbers { uint programs, x_at, y_at, columns; };

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= programs) return;
  for (uint i = gl_LocalInvocationID.x; i < columns; i += 8) {
    y[y_at + row * columns + i] = 2 * x[x_at + row * columns + i];
  }
}
