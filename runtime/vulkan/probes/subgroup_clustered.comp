// The sum over four neighbours.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_clustered : require
#include "probe.glsl"
layout(set = 0, binding = 0) readonly buffer X { float x[]; };

void main() {
  y[y_at + at()] = subgroupClusteredAdd(x[x_at + at()], 4);
  who[who_at + at()] = float(gl_SubgroupID * 1000 + gl_SubgroupInvocationID);
}
