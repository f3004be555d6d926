// The probe of matrix units as a device without them can run it.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define AS_LOOPS
#include "../../runtime/vulkan/probes/probe.glsl"
#include "../../runtime/vulkan/probes/cooperative_matrix.glsl"
