// Opening Vulkan devices, and what can be said about those that are there. No Vulkan types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"
#include "runtime/vulkan/device_facts.h"

namespace weft {

class VulkanDevice;
struct Kernel;

// What validation layers said; callbacks of a driver may come on any thread.
class VulkanLog {
 public:
  void add(std::string message);
  std::vector<std::string> take();  // and forgets them
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

enum class VulkanValidation {
  none,
  core,          // and synchronisation
  gpu_assisted,  // also accesses beyond a buffer; slow
};
// As WEFT_VULKAN_VALIDATION says: 1 is core, gpu is gpu_assisted.
VulkanValidation validation_asked();

struct VulkanOptions {
  std::string device = "vulkan";  // the best one; or "vulkan:N", the Nth
  VulkanValidation validation = validation_asked();
  // shared_ptr: the last messages come when an instance is destroyed. Without it, they are errors
  // of what was called; those that come too late go to stderr.
  std::shared_ptr<VulkanLog> log = nullptr;
  // Copies through staging memory even where the host sees the device's, as it does not on most
  // discrete devices.
  bool staging = false;
  std::string cache_folder = {};  // for the driver's compiled kernels; nowhere without it
  // For tests: leaves out this one of the barriers between the steps of a graph; -1: none.
  int64_t drop_barrier = -1;
  // Features whose probes fail are not used; the verdict is kept in the cache folder.
  bool self_test = false;
};

// An environment variable of tests: "storage_range=4096,max_groups=7" makes every device one that
// has no more than this. Names are those of VulkanFacts; what is unknown makes devices unusable.
inline constexpr const char* kVulkanLimits = "WEFT_VULKAN_LIMITS";

// In errors after which only another context runs.
inline constexpr std::string_view kDeviceLost = "the device was lost";

// Another variable: "7" makes the driver lose the device at the seventh run since it was opened.
inline constexpr const char* kVulkanLose = "WEFT_VULKAN_LOSE";

// Another one: "0,2" makes the drivers of devices 0 and 2 fail when they are opened.
inline constexpr const char* kVulkanFail = "WEFT_VULKAN_FAIL";

// Those that the loader finds, usable or not. Fails if there is no loader.
Result<std::vector<VulkanFacts>> vulkan_devices(const VulkanOptions& options = {});

// Where no number was asked for and a driver fails, the next best device, and a notice
// (ir/support/notice.h).
Result<std::shared_ptr<VulkanDevice>> open_vulkan(const VulkanOptions& options = {});
const VulkanFacts& facts_of(const VulkanDevice& device);

// Fails, with both numbers, on a kernel with more buffers than the device lets one have.
Status check_bindings(const Kernel& kernel, const VulkanFacts& facts);

// What was handed to the driver so far, and how long it took from there to its end.
struct VulkanRuns {
  int64_t submissions = 0;
  int64_t nanoseconds = 0;
};
VulkanRuns runs_of(const VulkanDevice& device);

// The number that "vulkan" or "vulkan:N" means among devices: for the first form a discrete one
// before an integrated before others, and none that is unusable. Fails if there is none.
Result<uint32_t> choose_vulkan(std::string_view name, const std::vector<VulkanFacts>& devices);

}  // namespace weft
