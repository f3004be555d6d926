// VK_KHR_cooperative_matrix, which Vulkan's headers have from 1.3.255 on: what Weft asks of it.
// https://registry.khronos.org/vulkan/specs/latest/man/html/VK_KHR_cooperative_matrix.html
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/vulkan/call.h"
#include "runtime/vulkan/device_facts.h"

namespace weft {

inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR
struct MatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void* next = nullptr;
  VkBool32 matrices = VK_FALSE;
  VkBool32 robust_access = VK_FALSE;
};

// VkCooperativeMatrixPropertiesKHR: one combination of sizes and types that a device multiplies.
struct MatrixProperties {
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void* next = nullptr;
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
  uint32_t a = 0;  // VkComponentTypeKHR: 0 is f16, 1 is f32
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t result = 0;
  VkBool32 saturates = VK_FALSE;
  uint32_t scope = 0;  // VkScopeKHR: 3 is a subgroup
};

bool has_matrix_extension(VkPhysicalDevice device);
// All combinations; none if the driver does not tell.
std::vector<MatrixProperties> matrix_properties(VkInstance instance, VkPhysicalDevice device);
// Those that kernels use: f16 times f16 added to f32, by a subgroup.
std::vector<VulkanMatrix> usable_matrices(const std::vector<MatrixProperties>& all);

}  // namespace weft
