// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/transfers.h"

#include <algorithm>
#include <cstring>

namespace weft {
namespace {

constexpr int64_t kStagingBytes = int64_t{4} << 20;

VkDeviceSize unsigned_size(int64_t bytes) { return static_cast<VkDeviceSize>(bytes); }

}  // namespace

Result<std::shared_ptr<CommandPool>> CommandPool::create(std::shared_ptr<VulkanDevice> device) {
  std::shared_ptr<CommandPool> made(new CommandPool(std::move(device)));
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = made->device_->queue_family();
  WEFT_TRY_STATUS(vk_status(made->device_->vk().vkCreateCommandPool(made->device_->handle(), &info,
                                                                    nullptr, &made->pool_),
                            "creating a command pool"));
  return made;
}

CommandPool::~CommandPool() {
  if (pool_ != VK_NULL_HANDLE) {
    device_->vk().vkDestroyCommandPool(device_->handle(), pool_, nullptr);
  }
}

Result<VkCommandBuffer> CommandPool::make() {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer made = VK_NULL_HANDLE;
  WEFT_TRY_STATUS(vk_status(device_->vk().vkAllocateCommandBuffers(device_->handle(), &info, &made),
                            "creating a command buffer"));
  return made;
}

void CommandPool::free(VkCommandBuffer commands) {
  device_->vk().vkFreeCommandBuffers(device_->handle(), pool_, 1, &commands);
}

void record_barrier(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  constexpr VkPipelineStageFlags kStages =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                          VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands, kStages, kStages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier,
                          0, nullptr, 0, nullptr);
}

Transfers::~Transfers() {
  if (commands_ != VK_NULL_HANDLE) pool_->free(commands_);
}

Status Transfers::run(const std::function<void(VkCommandBuffer)>& record) {
  VulkanDevice& device = pool_->device();
  if (commands_ == VK_NULL_HANDLE) {
    WEFT_TRY(commands_, pool_->make());
  }
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  WEFT_TRY_STATUS(
      vk_status(device.vk().vkBeginCommandBuffer(commands_, &info), "recording a copy"));
  record_barrier(device.vk(), commands_);
  record(commands_);
  record_barrier(device.vk(), commands_);
  WEFT_TRY_STATUS(vk_status(device.vk().vkEndCommandBuffer(commands_), "recording a copy"));
  return device.run({&commands_, 1});
}

Status Transfers::need_staging() {
  if (staging_.bytes() > 0) return ok();
  WEFT_TRY(staging_, DeviceBuffer::create(pool_->device(), kStagingBytes, MemoryUse::staging,
                                          "staging memory"));
  return ok();
}

Status Transfers::upload(const DeviceBuffer& to, int64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return ok();
  if (to.mapped() != nullptr) {
    std::memcpy(to.mapped() + offset, bytes.data(), bytes.size());
    return ok();
  }
  WEFT_TRY_STATUS(need_staging());
  const auto size = static_cast<int64_t>(bytes.size());
  for (int64_t done = 0; done < size; done += kStagingBytes) {
    const int64_t part = std::min(kStagingBytes, size - done);
    std::memcpy(staging_.mapped(), bytes.data() + done, static_cast<size_t>(part));
    const VkBufferCopy region{0, unsigned_size(offset + done), unsigned_size(part)};
    WEFT_TRY_STATUS(copy(staging_, to, {&region, 1}));
  }
  return ok();
}

Status Transfers::download(const DeviceBuffer& from, int64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return ok();
  if (from.mapped() != nullptr && from.cached()) {
    std::memcpy(bytes.data(), from.mapped() + offset, bytes.size());
    return ok();
  }
  WEFT_TRY_STATUS(need_staging());
  const auto size = static_cast<int64_t>(bytes.size());
  for (int64_t done = 0; done < size; done += kStagingBytes) {
    const int64_t part = std::min(kStagingBytes, size - done);
    const VkBufferCopy region{unsigned_size(offset + done), 0, unsigned_size(part)};
    WEFT_TRY_STATUS(copy(from, staging_, {&region, 1}));
    std::memcpy(bytes.data() + done, staging_.mapped(), static_cast<size_t>(part));
  }
  return ok();
}

// The device fills whole words.
Status Transfers::zero(const DeviceBuffer& to, int64_t offset, int64_t bytes) {
  if (bytes == 0) return ok();
  if (to.mapped() != nullptr) {
    std::memset(to.mapped() + offset, 0, static_cast<size_t>(bytes));
    return ok();
  }
  const int64_t first = std::min((offset + 3) / 4 * 4, offset + bytes);
  const int64_t last = std::max((offset + bytes) / 4 * 4, first);
  const std::byte zeros[4] = {};
  WEFT_TRY_STATUS(upload(to, offset, {zeros, static_cast<size_t>(first - offset)}));
  WEFT_TRY_STATUS(upload(to, last, {zeros, static_cast<size_t>(offset + bytes - last)}));
  if (first == last) return ok();
  return run([&](VkCommandBuffer commands) {
    pool_->device().vk().vkCmdFillBuffer(commands, to.handle(), unsigned_size(first),
                                         unsigned_size(last - first), 0);
  });
}

Status Transfers::copy(const DeviceBuffer& from, const DeviceBuffer& to,
                       std::span<const VkBufferCopy> regions) {
  if (regions.empty()) return ok();
  const VolkDeviceTable& vk = pool_->device().vk();
  return run([&](VkCommandBuffer commands) {
    for (size_t i = 0; i < regions.size(); ++i) {
      if (i > 0) record_barrier(vk, commands);
      vk.vkCmdCopyBuffer(commands, from.handle(), to.handle(), 1, &regions[i]);
    }
  });
}

}  // namespace weft
