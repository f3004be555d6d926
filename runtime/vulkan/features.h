// The features of a physical device that Weft knows: what it reports, and what is switched on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "runtime/vulkan/call.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/device_facts.h"

namespace weft {

// Vulkan's structs, chained; first as the device reports them, then with what Weft does not use
// switched off. Not to be copied: they point at each other.
struct FeatureChain {
  FeatureChain() = default;
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  void query(VkPhysicalDevice device, uint32_t api_version);
  void keep_known();

  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};  // in the chain from 1.3 on
  MatrixFeatures matrix{};                 // in the chain where the device has the extension
};

// The first family of queues with compute; those of graphics have it too, and are the ones all
// drivers have.
struct ComputeQueue {
  uint32_t family = 0;
  bool timestamps = false;
};
std::optional<ComputeQueue> compute_queue(VkPhysicalDevice device);

// `index` is the device's number in the loader's order.
VulkanFacts read_facts(VkInstance instance, VkPhysicalDevice device, uint32_t index);

}  // namespace weft
