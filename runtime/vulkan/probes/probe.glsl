// What every probe has: x of 64 elements at binding 0, y and who computed it, 64 of each.
// SPDX-License-Identifier: Apache-2.0
layout(local_size_x = 64) in;
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(set = 0, binding = 2) writeonly buffer Who { float who[]; };
layout(push_constant) uniform Numbers { uint programs, x_at, y_at, who_at; };

uint at() { return gl_LocalInvocationID.x; }
