// An open Vulkan device: its queue, its memory, its cache of compiled kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "runtime/vulkan/device_memory.h"
#include "runtime/vulkan/instance.h"

namespace weft {

// Offsets of everything that descriptors show: no device asks for more.
inline constexpr int64_t kVulkanAlignment = 256;

// Contexts may share one, on several threads.
class VulkanDevice {
 public:
  static Result<std::shared_ptr<VulkanDevice>> open(const VulkanOptions& options);  // untested
  ~VulkanDevice();  // saves the driver's compiled kernels
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;

  const VulkanFacts& facts() const { return facts_; }
  // The feature is not to be used, though the driver reports it.
  void refuse(std::string_view feature, std::string reason);
  VkDevice handle() const { return device_; }
  VkPhysicalDevice physical() const { return physical_; }
  const VolkDeviceTable& vk() const { return vk_; }
  DeviceMemory& memory() { return *memory_; }
  uint32_t queue_family() const { return queue_family_; }
  VkPipelineCache pipeline_cache() const { return pipeline_cache_; }

  VulkanRuns runs() const { return {submissions_, nanoseconds_}; }
  int64_t drop_barrier() const { return drop_barrier_; }  // VulkanOptions::drop_barrier

  // Runs recorded commands to their end. What they wrote is seen by the host if a barrier says so.
  // In their order, as one submission.
  Status run(std::span<const VkCommandBuffer> commands);
  // An error if a validation layer has said something.
  Status complaints() const { return instance_->complaints(); }
  // Keeps what the driver has compiled so far in the cache folder, if there is one.
  Status save_pipelines();

 private:
  VulkanDevice() = default;
  Status create(const VulkanOptions& options);
  void close();
  Status choose_queue();
  Status create_semaphore();
  Status load_pipelines();
  Status submit_and_wait(std::span<const VkCommandBuffer> commands);

  std::unique_ptr<VulkanInstance> instance_;
  VulkanFacts facts_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VolkDeviceTable vk_{};
  uint32_t queue_family_ = 0;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex queue_mutex_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  uint64_t submitted_ = 0;  // the value that the last submission leaves in it
  std::unique_ptr<DeviceMemory> memory_;
  VkPipelineCache pipeline_cache_ = VK_NULL_HANDLE;
  std::string cache_folder_;
  int64_t drop_barrier_ = -1;
  int64_t lose_at_ = 0;  // this submission, if it is not 0
  std::atomic<int64_t> submissions_ = 0;
  std::atomic<int64_t> nanoseconds_ = 0;
  size_t saved_bytes_ = 0;
};

}  // namespace weft
