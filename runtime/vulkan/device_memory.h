// Memory of a Vulkan device, by type and heap, and buffers in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/vulkan/call.h"
#include "runtime/vulkan/suballocator.h"

namespace weft {

class VulkanDevice;

enum class MemoryUse {
  device,   // kernels work on it; the host sees it where the device's memory allows that
  staging,  // the host fills or reads it
};

struct DeviceAllocation {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  int64_t offset = 0;
  std::byte* mapped = nullptr;  // null: the host does not see it
  bool cached = false;          // the host reads it as fast as its own
  uint32_t type = 0;
};

// Small pieces share blocks; large ones have their own. For several threads.
class DeviceMemory {
 public:
  DeviceMemory(VkPhysicalDevice physical, VkDevice device, const VolkDeviceTable& vk,
               int64_t max_allocation, bool map_device_memory);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Fails, naming `what`, if every heap that would do is exhausted.
  Result<DeviceAllocation> allocate(const VkMemoryRequirements& needed, MemoryUse use,
                                    const std::string& what);
  void free(const DeviceAllocation& allocation);
  int64_t bytes() const;  // taken from the driver

 private:
  struct Block {
    VkDeviceMemory memory;
    uint32_t type;
    std::byte* mapped;
    Suballocator places;
  };
  std::vector<uint32_t> types_for(uint32_t bits, MemoryUse use) const;
  int64_t largest_device_heap() const;
  DeviceAllocation taken(const Block& block, int64_t offset) const;
  void tell_if_slow(uint32_t type, MemoryUse use, int64_t bytes, const std::string& what);
  VkResult add_block(uint32_t type, int64_t bytes, bool map);

  VkDevice device_;
  const VolkDeviceTable& vk_;
  VkPhysicalDeviceMemoryProperties properties_{};
  int64_t max_allocation_;
  bool map_device_memory_;
  bool told_ = false;  // that it gives memory which is not the device's
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
};

// A buffer for every use that Weft makes of buffers, with its memory. Moves only.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // At least one byte. `what` names it in errors: "arena".
  static Result<DeviceBuffer> create(VulkanDevice& device, int64_t bytes, MemoryUse use,
                                     const std::string& what);
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  VkBuffer handle() const { return buffer_; }
  int64_t bytes() const { return bytes_; }
  std::byte* mapped() const { return memory_.mapped; }
  bool cached() const { return memory_.cached; }

 private:
  void swap(DeviceBuffer& other) noexcept;

  VulkanDevice* device_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  DeviceAllocation memory_;
  int64_t bytes_ = 0;
};

}  // namespace weft
