// y = x + 1, four elements a texel; one workgroup has four texels.
// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform textureBuffer x;
layout(set = 0, binding = 1, rgba32f) writeonly uniform imageBuffer y;
layout(push_constant) uniform Numbers { uint programs, x_at, y_at, texels; };

void main() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  uint i = group * 4 + gl_LocalInvocationID.x;
  if (group >= programs || i >= texels) return;
  imageStore(y, int(y_at / 4 + i), texelFetch(x, int(x_at / 4 + i)) + vec4(1));
}
