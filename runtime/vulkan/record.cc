// The commands of a recording.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/recorder.h"

namespace weft {
namespace {

constexpr uint32_t kPoison = UINT32_MAX;  // in every float type a NaN

uint64_t number_of(VkBuffer buffer) { return reinterpret_cast<uint64_t>(buffer); }

MemoryAccess access(const DevicePlace& place, bool writes) {
  return {number_of(place.buffer), place.offset, place.offset + place.bytes, writes};
}

VkDeviceSize unsigned_size(int64_t bytes) { return static_cast<VkDeviceSize>(bytes); }

}  // namespace

Result<VkCommandBuffer> Recorder::begin_commands() {
  WEFT_TRY(VkCommandBuffer made, recording_.pool_->make());
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  WEFT_TRY_STATUS(vk_status(vk().vkBeginCommandBuffer(made, &info), "recording a graph"));
  return made;
}

Result<VkCommandBuffer> Recorder::record(VkQueryPool queries) {
  WEFT_TRY(commands_, begin_commands());
  const VkCommandBuffer made = commands_;
  timed_ = queries != VK_NULL_HANDLE;
  const auto steps = static_cast<uint32_t>(bound_.steps.size());
  if (timed_) vk().vkCmdResetQueryPool(made, queries, 0, steps + 1);
  record_start();
  for (uint32_t i = 0; i < steps; ++i) {
    if (timed_) {
      record_barrier(vk(), made);
      vk().vkCmdWriteTimestamp(made, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, i);
    }
    record_step(i);
    if (recording_.plan_.poison_dead) record_poison_dead(i);
  }
  if (timed_) {
    record_barrier(vk(), made);
    vk().vkCmdWriteTimestamp(made, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, steps);
  }
  record_barrier(vk(), made);
  WEFT_TRY_STATUS(vk_status(vk().vkEndCommandBuffer(made), "recording a graph"));
  return made;
}

void Recorder::before(std::span<const MemoryAccess> accesses) {
  if (!hazards_.next(accesses)) return;
  if (static_cast<int64_t>(barriers_) != device_.drop_barrier()) record_barrier(vk(), commands_);
  ++barriers_;
  if (!timed_) recording_.barriers_ = barriers_;
}

// Earlier runs are over, but no barrier of theirs speaks of this one.
void Recorder::record_start() {
  hazards_.barrier();
  record_barrier(vk(), commands_);
  if (recording_.failure_bytes_ > 0) {
    record_fill({recording_.failures_.handle(), 0, recording_.failure_bytes_}, UINT32_MAX);
  }
  for (const DevicePlace& place : recording_.plan_.poison) record_fill(place, kPoison);
}

Result<VkCommandBuffer> Recorder::record_move(VkBuffer from, VkBuffer to, int64_t begin,
                                              int64_t end) {
  if (begin == end) return VkCommandBuffer{VK_NULL_HANDLE};
  WEFT_TRY(VkCommandBuffer made, begin_commands());
  record_barrier(vk(), made);
  const VkBufferCopy region{unsigned_size(begin), unsigned_size(begin), unsigned_size(end - begin)};
  vk().vkCmdCopyBuffer(made, from, to, 1, &region);
  record_barrier(vk(), made);
  WEFT_TRY_STATUS(vk_status(vk().vkEndCommandBuffer(made), "recording a copy"));
  return made;
}

void Recorder::record_fill(const DevicePlace& place, uint32_t word) {
  if (place.bytes == 0) return;
  const MemoryAccess filled[] = {access(place, true)};
  before(filled);
  const int64_t whole = (place.bytes + 3) / 4 * 4;  // what lies between buffers is nobody's
  vk().vkCmdFillBuffer(commands_, place.buffer, unsigned_size(place.offset), unsigned_size(whole),
                       word);
}

void Recorder::record_step(size_t number) {
  const BoundStep& step = bound_.steps[number];
  if (step.is_copy()) {
    record_copy(step);
  } else {
    record_launch(step, recording_.launches_[number]);
  }
}

void Recorder::record_launch(const BoundStep& step, const Recording::Launch& launch) {
  const Kernel& kernel = bound_.kernel(step);
  accesses_.clear();
  for (const Binding& binding : kernel.bindings) {
    const Window shown = window(step, binding.buffer);
    const MemoryAccess item{number_of(shown.buffer), shown.begin, shown.begin + shown.bytes, false};
    if (binding.reads) accesses_.push_back(item);
    if (binding.writes) accesses_.push_back(item);
    if (binding.writes) accesses_.back().writes = true;
  }
  if (launch.failure_at >= 0) {
    accesses_.push_back(
        {number_of(recording_.failures_.handle()), launch.failure_at, launch.failure_at + 4, true});
  }
  before(accesses_);
  const VulkanKernel& made = *kernels_.get(step.step->program).value();  // describe() made it
  vk().vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, made.pipeline);
  vk().vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, made.layout, 0, 1,
                               &launch.set, 0, nullptr);
  if (!kernel.numbers_in_buffer) {
    vk().vkCmdPushConstants(commands_, made.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            number_bytes(kernel), launch.numbers.data());
  }
  vk().vkCmdDispatch(commands_, launch.groups[0], launch.groups[1], 1);
}

void Recorder::record_copy(const BoundStep& step) {
  DevicePlace from = place(step, 0);
  DevicePlace to = place(step, 1);
  from.offset += placed(step, 0).offset;
  to.offset += placed(step, 1).offset;
  if (from.buffer == to.buffer && from.offset == to.offset) return;
  from.bytes = to.bytes = step.count;
  const MemoryAccess moved[] = {access(from, false), access(to, true)};
  before(moved);
  const VkBufferCopy region{unsigned_size(from.offset), unsigned_size(to.offset),
                            unsigned_size(step.count)};
  vk().vkCmdCopyBuffer(commands_, from.buffer, to.buffer, 1, &region);
}

// What ends its life with the last step of this number is not to be read again.
void Recorder::record_poison_dead(size_t number) {
  const uint32_t step = bound_.steps[number].number;
  if (number + 1 < bound_.steps.size() && bound_.steps[number + 1].number == step) return;
  const GraphPlan& plan = bound_.loaded->executable().graphs[bound_.graph];
  for (size_t i = 0; i < bound_.buffers.size(); ++i) {
    if (bound_.buffers[i].kind != PlanBuffer::arena || plan.buffers[i].last != step) continue;
    record_fill(recording_.plan_.places[i], kPoison);
  }
}

}  // namespace weft
