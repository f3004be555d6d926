// Matrix units. Its words are rewritten before they run: runtime/vulkan/khr_matrices.h.
// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#pragma use_vulkan_memory_model
#include "probe.glsl"
#include "cooperative_matrix.glsl"
