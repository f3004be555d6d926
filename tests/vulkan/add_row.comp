// Rows of x plus one row: read through texel buffers, written to an image buffer.
// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) uniform textureBuffer x;
layout(set = 0, binding = 1) uniform textureBuffer w;
layout(set = 0, binding = 2, r32f) writeonly uniform imageBuffer y;
layout(push_constant) uniform Numbers { uint programs, x_at, w_at, y_at, columns; };

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= programs) return;
  for (uint i = gl_LocalInvocationID.x; i < columns; i += 8) {
    float sum = texelFetch(x, int(x_at + row * columns + i)).x + texelFetch(w, int(w_at + i)).x;
    imageStore(y, int(y_at + row * columns + i), vec4(sum));
  }
}
