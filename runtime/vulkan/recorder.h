// Builds a Recording: descriptors and numbers of its launches first, then the commands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/hazards.h"
#include "runtime/vulkan/recording.h"

namespace weft {

class Recorder {
 public:
  Recorder(Recording& recording, VulkanKernels& kernels)
      : recording_(recording),
        kernels_(kernels),
        device_(recording.pool_->device()),
        bound_(*recording.plan_.bound) {}

  // Everything but the commands. Fails on what the device cannot show to a kernel.
  Status describe();
  // With `queries`, a timestamp stands before each step and after the last.
  Result<VkCommandBuffer> record(VkQueryPool queries);
  // A copy at the same place of another buffer; nothing if there is nothing to copy.
  Result<VkCommandBuffer> record_move(VkBuffer from, VkBuffer to, int64_t begin, int64_t end);

 private:
  // What a descriptor shows of a buffer.
  struct Window {
    VkBuffer buffer = VK_NULL_HANDLE;
    int64_t begin = 0;
    int64_t bytes = 0;
  };
  // What the descriptors of one binding show.
  struct Shown {
    std::vector<VkDescriptorBufferInfo> buffers;
    std::vector<VkBufferView> views;
  };

  const VolkDeviceTable& vk() const { return device_.vk(); }
  const BoundStep::Buffer& placed(const BoundStep& step, uint32_t i) const {
    return bound_.step_buffers[step.first_buffer + i];
  }
  const DevicePlace& place(const BoundStep& step, uint32_t i) const {
    return recording_.plan_.places[placed(step, i).buffer];
  }
  Window window(const BoundStep& step, uint32_t buffer) const;
  std::vector<Window> windows(const BoundStep& step, const Binding& binding) const;  // its parts

  Status set_grid(const BoundStep& step, Recording::Launch& launch);
  Status set_numbers(const BoundStep& step, Recording::Launch& launch);
  Status make_buffers(int64_t number_bytes_all, int64_t failure_bytes);
  Status allocate_set(const BoundStep& step, Recording::Launch& launch);
  Status make_descriptor_pool();
  Status write_descriptors(const BoundStep& step, Recording::Launch& launch);
  void update_set(VkDescriptorSet set, std::span<const DescriptorArray> descriptors,
                  std::span<const Shown> shown);
  Status check_range(const BoundStep& step, const Binding& binding, const Window& shown) const;
  Result<VkBufferView> view(const BoundStep& step, const Binding& binding, const Window& shown);

  Result<VkCommandBuffer> begin_commands();
  void before(std::span<const MemoryAccess> accesses);
  void record_start();
  void record_step(size_t number);
  void record_launch(const BoundStep& step, const Recording::Launch& launch);
  void record_copy(const BoundStep& step);
  void record_fill(const DevicePlace& place, uint32_t word);
  void record_poison_dead(size_t number);

  Recording& recording_;
  VulkanKernels& kernels_;
  VulkanDevice& device_;
  const BoundGraph& bound_;
  std::map<std::pair<VkBuffer, std::pair<int64_t, std::pair<int64_t, VkFormat>>>, VkBufferView>
      views_;
  Hazards hazards_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  bool timed_ = false;
  size_t barriers_ = 0;
  std::vector<MemoryAccess> accesses_;
};

}  // namespace weft
