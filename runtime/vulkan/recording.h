// A bound graph as a command buffer, recorded once and replayed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/bind.h"
#include "runtime/vulkan/kernels.h"
#include "runtime/vulkan/transfers.h"

namespace weft {

// Where a plan buffer lies.
struct DevicePlace {
  VkBuffer buffer = VK_NULL_HANDLE;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// Which of the caller's tensors a run moves.
struct MovedTensors {
  bool inputs = true;
  bool outputs = true;
};

// Copied by the device between staging memory and what kernels see, where the host does not see it.
struct StagedBytes {
  VkBuffer staging = VK_NULL_HANDLE;  // none: nothing is staged
  VkBuffer seen = VK_NULL_HANDLE;     // the same offsets in both
  int64_t inputs_end = 0;             // inputs lie before it, outputs between it and outputs_end
  int64_t outputs_end = 0;
};

struct RecordingPlan {
  const BoundGraph* bound = nullptr;
  std::vector<DevicePlace> places;  // one per buffer of the plan
  StagedBytes staged;
  std::vector<DevicePlace> poison;  // filled with NaN before the first step
  bool poison_dead = false;         // also what ends its life, after the step that ends it
};

// Good as long as every buffer stays where it is.
class Recording {
 public:
  static Result<std::unique_ptr<Recording>> create(std::shared_ptr<CommandPool> pool,
                                                   VulkanKernels& kernels, RecordingPlan plan);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // `nanoseconds`, if not empty, has one number per step of the bound graph: then each waits for
  // the one before it. Fails as Context::run does.
  Status run(MovedTensors moved, std::span<int64_t> nanoseconds);

  size_t barriers() const { return barriers_; }  // between steps

 private:
  friend class Recorder;
  explicit Recording(std::shared_ptr<CommandPool> pool) : pool_(std::move(pool)) {}
  Status make_timed();
  Status check_failures() const;
  Status add_times(std::span<int64_t> nanoseconds) const;

  // What one launch is recorded with.
  struct Launch {
    VkDescriptorSet set = VK_NULL_HANDLE;
    std::vector<uint32_t> numbers;
    uint32_t groups[2] = {1, 1};
    int64_t numbers_at = 0;   // in numbers_, of a kernel that reads them there
    int64_t failure_at = -1;  // in failures_, of a kernel with checks
  };

  std::shared_ptr<CommandPool> pool_;  // shared_ptr: see CommandPool
  RecordingPlan plan_;
  VulkanKernels* kernels_ = nullptr;
  std::vector<Launch> launches_;  // one per step; those of copies are empty
  std::vector<VkBufferView> views_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  DeviceBuffer numbers_;
  DeviceBuffer failures_;
  int64_t failure_bytes_ = 0;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkCommandBuffer timed_ = VK_NULL_HANDLE;
  VkCommandBuffer upload_ = VK_NULL_HANDLE;  // of staged inputs, if there are any
  VkCommandBuffer download_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  size_t barriers_ = 0;
};

}  // namespace weft
