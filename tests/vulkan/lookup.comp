// Rows of a table, times two; an index beyond the table is a failure.
// SPDX-License-Identifier: Apache-2.0
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform itextureBuffer index;
layout(set = 0, binding = 1) readonly buffer Table { float table[]; };
layout(set = 0, binding = 2) writeonly buffer Y { float y[]; };
layout(set = 0, binding = 3) buffer Failed { uint failed; };
layout(push_constant) uniform Numbers { uint programs, index_at, table_at, y_at, columns, rows; };

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= programs) return;
  int from = texelFetch(index, int(index_at + row)).x;
  if (from < 0 || from >= int(rows)) {
    atomicMin(failed, 0u);
    return;
  }
  for (uint i = gl_LocalInvocationID.x; i < columns; i += 4) {
    y[y_at + row * columns + i] = 2 * table[table_at + uint(from) * columns + i];
  }
}
