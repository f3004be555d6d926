// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/cooperative_matrix.h"

#include <algorithm>
#include <string_view>

namespace weft {

bool has_matrix_extension(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  if (vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) !=
      VK_SUCCESS) {
    return false;
  }
  return std::ranges::any_of(extensions, [](const VkExtensionProperties& extension) {
    return std::string_view(extension.extensionName) == kMatrixExtension;
  });
}

std::vector<MatrixProperties> matrix_properties(VkInstance instance, VkPhysicalDevice device) {
  using Function = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, MatrixProperties*);
  const auto ask = reinterpret_cast<Function>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (ask == nullptr || ask(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<MatrixProperties> all(count);
  if (ask(device, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(std::min<size_t>(count, all.size()));
  return all;
}

std::vector<VulkanMatrix> usable_matrices(const std::vector<MatrixProperties>& all) {
  constexpr uint32_t kF16 = 0;
  constexpr uint32_t kF32 = 1;
  constexpr uint32_t kSubgroup = 3;
  std::vector<VulkanMatrix> result;
  for (const MatrixProperties& item : all) {
    const bool types = item.a == kF16 && item.b == kF16 && item.c == kF32 && item.result == kF32;
    if (!types || item.scope != kSubgroup || item.saturates == VK_TRUE) continue;
    result.push_back({item.m, item.n, item.k});
  }
  return result;
}

}  // namespace weft
