// The connection to the Vulkan loader, with or without validation layers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "runtime/vulkan/call.h"
#include "runtime/vulkan/open.h"

namespace weft {

class VulkanInstance {
 public:
  // Fails if there is no loader or driver, or if validation is asked for and not installed.
  static Result<std::unique_ptr<VulkanInstance>> open(const VulkanOptions& options);
  ~VulkanInstance();
  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;

  VkInstance handle() const { return instance_; }
  Result<std::vector<VkPhysicalDevice>> devices() const;
  // An error if a validation layer has said something since the last call.
  Status complaints() const;

 private:
  VulkanInstance() = default;
  Status create(const VulkanOptions& options);

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::shared_ptr<VulkanLog> log_;  // shared_ptr: a caller may look at it after our end
  bool log_is_ours_ = false;
  bool validates_ = false;
};

}  // namespace weft
