// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/recording.h"

#include <cstring>

#include "runtime/vulkan/recorder.h"

namespace weft {

Result<std::unique_ptr<Recording>> Recording::create(std::shared_ptr<CommandPool> pool,
                                                     VulkanKernels& kernels, RecordingPlan plan) {
  std::unique_ptr<Recording> made(new Recording(std::move(pool)));
  made->plan_ = std::move(plan);
  made->kernels_ = &kernels;
  Recorder recorder(*made, kernels);
  WEFT_TRY_STATUS(recorder.describe());
  WEFT_TRY(made->commands_, recorder.record(VK_NULL_HANDLE));
  const StagedBytes& staged = made->plan_.staged;
  if (staged.staging != VK_NULL_HANDLE) {
    WEFT_TRY(made->upload_,
             recorder.record_move(staged.staging, staged.seen, 0, staged.inputs_end));
    WEFT_TRY(made->download_, recorder.record_move(staged.seen, staged.staging, staged.inputs_end,
                                                   staged.outputs_end));
  }
  WEFT_TRY_STATUS(made->pool_->device().complaints());
  return made;
}

Recording::~Recording() {
  VulkanDevice& device = pool_->device();
  const VolkDeviceTable& vk = device.vk();
  for (VkCommandBuffer commands : {commands_, timed_, upload_, download_}) {
    if (commands != VK_NULL_HANDLE) pool_->free(commands);
  }
  vk.vkDestroyQueryPool(device.handle(), queries_, nullptr);
  vk.vkDestroyDescriptorPool(device.handle(), descriptors_, nullptr);
  for (VkBufferView view : views_) vk.vkDestroyBufferView(device.handle(), view, nullptr);
}

Status Recording::make_timed() {
  VulkanDevice& device = pool_->device();
  if (device.facts().timestamp_period == 0) {
    return error({}, device.facts().name, " does not measure time: a graph cannot be profiled");
  }
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = static_cast<uint32_t>(plan_.bound->steps.size() + 1);
  WEFT_TRY_STATUS(
      vk_status(device.vk().vkCreateQueryPool(device.handle(), &info, nullptr, &queries_),
                "creating timestamps"));
  WEFT_TRY(timed_, Recorder(*this, *kernels_).record(queries_));
  return ok();
}

Status Recording::run(MovedTensors moved, std::span<int64_t> nanoseconds) {
  const bool timed = !nanoseconds.empty();
  if (timed && timed_ == VK_NULL_HANDLE) WEFT_TRY_STATUS(make_timed());
  VkCommandBuffer all[3] = {};
  size_t count = 0;
  if (moved.inputs && upload_ != VK_NULL_HANDLE) all[count++] = upload_;
  all[count++] = timed ? timed_ : commands_;
  if (moved.outputs && download_ != VK_NULL_HANDLE) all[count++] = download_;
  WEFT_TRY_STATUS(pool_->device().run({all, count}));
  if (timed) WEFT_TRY_STATUS(add_times(nanoseconds));
  return check_failures();
}

Status Recording::add_times(std::span<int64_t> nanoseconds) const {
  VulkanDevice& device = pool_->device();
  std::vector<uint64_t> ticks(nanoseconds.size() + 1);
  WEFT_TRY_STATUS(vk_status(
      device.vk().vkGetQueryPoolResults(
          device.handle(), queries_, 0, static_cast<uint32_t>(ticks.size()), ticks.size() * 8,
          ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
      "reading timestamps"));
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    const auto passed = static_cast<double>(ticks[i + 1] - ticks[i]);
    nanoseconds[i] += static_cast<int64_t>(passed * device.facts().timestamp_period);
  }
  return ok();
}

// Of the first step that failed: those after it have worked on what it left.
Status Recording::check_failures() const {
  for (size_t i = 0; i < launches_.size() && failure_bytes_ > 0; ++i) {
    if (launches_[i].failure_at < 0) continue;
    uint32_t failed = UINT32_MAX;
    std::memcpy(&failed, failures_.mapped() + launches_[i].failure_at, sizeof failed);
    if (failed == UINT32_MAX) continue;
    const BoundStep& step = plan_.bound->steps[i];
    const Kernel& kernel = plan_.bound->kernel(step);
    const std::string& computes = step.step->region;
    const std::string region = computes.empty() ? "" : " (" + computes + ")";
    WEFT_CHECK(failed < kernel.checks.size(), "kernel " + kernel.name + " knows its checks");
    return error({}, "kernel ", kernel.name, region, ": ", kernel.checks[failed], ": out of range");
  }
  return ok();
}

}  // namespace weft
