// Bytes between the host and buffers of a device, outside of runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "runtime/vulkan/device.h"

namespace weft {

// Commands of one context; what keeps some of them keeps it alive.
class CommandPool {
 public:
  static Result<std::shared_ptr<CommandPool>> create(std::shared_ptr<VulkanDevice> device);
  ~CommandPool();
  CommandPool(const CommandPool&) = delete;
  CommandPool& operator=(const CommandPool&) = delete;

  VulkanDevice& device() const { return *device_; }
  Result<VkCommandBuffer> make();
  void free(VkCommandBuffer commands);

 private:
  explicit CommandPool(std::shared_ptr<VulkanDevice> device) : device_(std::move(device)) {}

  std::shared_ptr<VulkanDevice> device_;  // shared_ptr: contexts share an open device
  VkCommandPool pool_ = VK_NULL_HANDLE;
};

// Everything before it in a command buffer happens before everything after it. The host sees what
// came before it if it waits for the end.
void record_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands);

// Directly where the host sees a buffer, through staging memory elsewhere. Each call is complete
// when it returns.
class Transfers {
 public:
  explicit Transfers(std::shared_ptr<CommandPool> pool) : pool_(std::move(pool)) {}
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  Status upload(const DeviceBuffer& to, int64_t offset, std::span<const std::byte> bytes);
  Status download(const DeviceBuffer& from, int64_t offset, std::span<std::byte> bytes);
  Status zero(const DeviceBuffer& to, int64_t offset, int64_t bytes);
  // In the order given.
  Status copy(const DeviceBuffer& from, const DeviceBuffer& to,
              std::span<const VkBufferCopy> regions);

 private:
  Status run(const std::function<void(VkCommandBuffer)>& record);
  Status need_staging();

  std::shared_ptr<CommandPool> pool_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  DeviceBuffer staging_;
};

}  // namespace weft
