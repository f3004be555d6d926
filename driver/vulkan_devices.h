// The Vulkan devices of this machine, as `weft devices` shows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/simt/form.h"
#include "driver/devices.h"

namespace weft {

class VulkanDevice;
struct VulkanFacts;

// Each with its self-test run. One entry that says why where there is none.
std::vector<Device> list_vulkan_devices();

// What the compiler makes of a device: where tiles lie, how kernels read and write. In words.
std::string kernels_text(const VulkanFacts& facts, const simt::KernelForm& form);

// A device that is open to run on, tested before.
struct OpenVulkan {
  std::shared_ptr<VulkanDevice> device;  // shared_ptr: contexts share it
  int64_t memory_bytes = 0;              // of its largest heap of its own
  bool in_host_memory = false;           // it works in the host's: a driver on the processor
};
Result<OpenVulkan> open_vulkan_device(const std::string& name);

// Tells what replaying costs the host beside the driver's own time.
class ReplayWatch {
 public:
  explicit ReplayWatch(std::shared_ptr<VulkanDevice> device);
  // Per run, of `runs` that took so many seconds together, since it was made.
  double submissions(int runs) const;
  double host_us(int runs, double seconds) const;

 private:
  std::shared_ptr<VulkanDevice> device_;
  int64_t submissions_ = 0;  // at the start, likewise below
  int64_t nanoseconds_ = 0;
};

}  // namespace weft
