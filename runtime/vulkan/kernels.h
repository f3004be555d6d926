// The kernels of an executable as pipelines of a Vulkan device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "runtime/loaded.h"
#include "runtime/vulkan/device.h"

namespace weft {

struct VulkanKernel {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

// Bytes of the numbers that a kernel is given.
uint32_t number_bytes(const Kernel& kernel);
// Descriptors of one binding of a set: more than one for a buffer in parts.
struct DescriptorArray {
  VkDescriptorType type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  uint32_t count = 1;
};
// In their order: bindings, numbers, failures.
std::vector<DescriptorArray> descriptors_of(const Kernel& kernel);

// The executable itself, or one with portable kernels in the place of those that the device cannot
// run.
Result<LoadedPtr> fit_to_device(LoadedPtr loaded, const VulkanFacts& facts);

// Made when they are first needed.
class VulkanKernels {
 public:
  // Fails, with its name, on a kernel that needs more than the device has.
  static Result<std::unique_ptr<VulkanKernels>> create(LoadedPtr loaded,
                                                       std::shared_ptr<VulkanDevice> device);
  ~VulkanKernels();
  VulkanKernels(const VulkanKernels&) = delete;
  VulkanKernels& operator=(const VulkanKernels&) = delete;

  Result<const VulkanKernel*> get(uint32_t number);

 private:
  VulkanKernels(LoadedPtr loaded, std::shared_ptr<VulkanDevice> device);
  Status make_layout(const Kernel& kernel, VulkanKernel& made);
  Status make_pipeline(const Kernel& kernel, VulkanKernel& made);

  LoadedPtr loaded_;
  std::shared_ptr<VulkanDevice> device_;
  std::vector<VulkanKernel> kernels_;
};

}  // namespace weft
