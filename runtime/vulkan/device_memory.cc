// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/device_memory.h"

#include <algorithm>
#include <utility>

#include "ir/support/notice.h"
#include "runtime/vulkan/device.h"

namespace weft {
namespace {

constexpr int64_t kBlockBytes = int64_t{16} << 20;
constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
// The host sees what the device wrote without further ado.
constexpr VkMemoryPropertyFlags kSeen =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkBufferUsageFlags kEveryUse =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

}  // namespace

DeviceMemory::DeviceMemory(VkPhysicalDevice physical, VkDevice device, const VolkDeviceTable& vk,
                           int64_t max_allocation, bool map_device_memory)
    : device_(device),
      vk_(vk),
      max_allocation_(max_allocation),
      map_device_memory_(map_device_memory) {
  vkGetPhysicalDeviceMemoryProperties(physical, &properties_);
}

DeviceMemory::~DeviceMemory() {
  for (const Block& block : blocks_) vk_.vkFreeMemory(device_, block.memory, nullptr);
}

int64_t DeviceMemory::largest_device_heap() const {
  int64_t most = 0;
  for (uint32_t i = 0; i < properties_.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = properties_.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) {
      most = std::max(most, static_cast<int64_t>(heap.size));
    }
  }
  return most;
}

// Of those that `bits` allows, the best first.
std::vector<uint32_t> DeviceMemory::types_for(uint32_t bits, MemoryUse use) const {
  std::vector<uint32_t> found;
  auto add = [&](VkMemoryPropertyFlags flags, int64_t least_heap) {
    for (uint32_t i = 0; i < properties_.memoryTypeCount; ++i) {
      const VkMemoryType& type = properties_.memoryTypes[i];
      const auto heap = static_cast<int64_t>(properties_.memoryHeaps[type.heapIndex].size);
      if ((bits >> i & 1) == 0 || (type.propertyFlags & flags) != flags || heap < least_heap) {
        continue;
      }
      if (std::ranges::find(found, i) == found.end()) found.push_back(i);
    }
  };
  if (use == MemoryUse::staging) {
    add(kSeen | kCached, 0);
    add(kSeen, 0);
    return found;
  }
  // A small window on a device's memory is left to others.
  if (map_device_memory_) add(kLocal | kSeen | kCached, largest_device_heap() / 2);
  if (map_device_memory_) add(kLocal | kSeen, largest_device_heap() / 2);
  add(kLocal, 0);
  add(0, 0);
  return found;
}

VkResult DeviceMemory::add_block(uint32_t type, int64_t bytes, bool map) {
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = static_cast<VkDeviceSize>(bytes);
  info.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkResult result = vk_.vkAllocateMemory(device_, &info, nullptr, &memory);
  if (result != VK_SUCCESS) return result;
  void* mapped = nullptr;
  if (map) result = vk_.vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
  if (result != VK_SUCCESS) {
    vk_.vkFreeMemory(device_, memory, nullptr);
    return result;
  }
  blocks_.push_back({memory, type, static_cast<std::byte*>(mapped), Suballocator(bytes)});
  return VK_SUCCESS;
}

DeviceAllocation DeviceMemory::taken(const Block& block, int64_t offset) const {
  const VkMemoryPropertyFlags flags = properties_.memoryTypes[block.type].propertyFlags;
  return {block.memory, offset, block.mapped == nullptr ? nullptr : block.mapped + offset,
          block.mapped != nullptr && (flags & kCached) != 0, block.type};
}

void DeviceMemory::tell_if_slow(uint32_t type, MemoryUse use, int64_t bytes,
                                const std::string& what) {
  const bool local = (properties_.memoryTypes[type].propertyFlags & kLocal) != 0;
  if (told_ || local || use == MemoryUse::staging || largest_device_heap() == 0) return;
  told_ = true;
  tell_notice(cat(what, ": the device's own memory has no room for ", bytes,
                  " bytes more; they are in other memory, which is slower"));
}

Result<DeviceAllocation> DeviceMemory::allocate(const VkMemoryRequirements& needed, MemoryUse use,
                                                const std::string& what) {
  const auto bytes = static_cast<int64_t>(needed.size);
  const auto alignment = static_cast<int64_t>(needed.alignment);
  if (bytes > max_allocation_) {
    return error({}, what, ": ", bytes, " bytes are needed in one piece, the device gives at most ",
                 max_allocation_)
        .hint("bind smaller sizes, for example B=1");
  }
  std::lock_guard lock(mutex_);
  VkResult last = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  for (uint32_t type : types_for(needed.memoryTypeBits, use)) {
    const bool seen = (properties_.memoryTypes[type].propertyFlags & kSeen) == kSeen;
    const bool map = seen && (use == MemoryUse::staging || map_device_memory_);
    for (Block& block : blocks_) {
      if (block.type != type || (block.mapped != nullptr) != map) continue;
      if (auto offset = block.places.allocate(bytes, alignment)) return taken(block, *offset);
    }
    last = add_block(type, bytes > kBlockBytes / 4 ? bytes : kBlockBytes, map);
    if (last != VK_SUCCESS) continue;
    tell_if_slow(type, use, bytes, what);
    return taken(blocks_.back(), *blocks_.back().places.allocate(bytes, alignment));
  }
  WEFT_TRY_STATUS(vk_status(last, what + ": asking for " + std::to_string(bytes) + " bytes"));
  return DeviceAllocation{};
}

void DeviceMemory::free(const DeviceAllocation& allocation) {
  std::lock_guard lock(mutex_);
  auto block = std::ranges::find(blocks_, allocation.memory, &Block::memory);
  WEFT_CHECK(block != blocks_.end(), "memory comes back to where it was taken");
  block->places.free(allocation.offset);
  if (block->places.used() > 0) return;
  vk_.vkFreeMemory(device_, block->memory, nullptr);
  blocks_.erase(block);
}

int64_t DeviceMemory::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t all = 0;
  for (const Block& block : blocks_) all += block.places.bytes();
  return all;
}

Result<DeviceBuffer> DeviceBuffer::create(VulkanDevice& device, int64_t bytes, MemoryUse use,
                                          const std::string& what) {
  DeviceBuffer made;
  made.device_ = &device;
  made.bytes_ = std::max<int64_t>(bytes, 1);
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = static_cast<VkDeviceSize>(made.bytes_);
  info.usage = kEveryUse;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  const VolkDeviceTable& vk = device.vk();
  WEFT_TRY_STATUS(vk_status(vk.vkCreateBuffer(device.handle(), &info, nullptr, &made.buffer_),
                            what + ": creating a buffer"));
  VkMemoryRequirements needed{};
  vk.vkGetBufferMemoryRequirements(device.handle(), made.buffer_, &needed);
  WEFT_TRY(made.memory_, device.memory().allocate(needed, use, what));
  WEFT_TRY_STATUS(
      vk_status(vk.vkBindBufferMemory(device.handle(), made.buffer_, made.memory_.memory,
                                      static_cast<VkDeviceSize>(made.memory_.offset)),
                what + ": giving a buffer its memory"));
  return made;
}

DeviceBuffer::~DeviceBuffer() {
  if (device_ == nullptr) return;
  device_->vk().vkDestroyBuffer(device_->handle(), buffer_, nullptr);
  if (memory_.memory != VK_NULL_HANDLE) device_->memory().free(memory_);
}

void DeviceBuffer::swap(DeviceBuffer& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace weft
