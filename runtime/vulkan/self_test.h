// Does a driver keep what it promises? A small kernel for each feature, against known answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ir/support/result.h"

namespace weft {

class VulkanDevice;
struct Probe;

// Refuses the features whose probes fail (VulkanFeature::refused). The verdict is kept in the
// folder, if there is one that can be used, and in the process, for this device, driver and these
// probes. WEFT_VULKAN_LIE=FEATURE makes a probe's answer wrong, as of a driver that lies; then
// nothing is kept.
void self_test(const std::shared_ptr<VulkanDevice>& device, const std::string& cache_folder);

// Why one probe's feature is not to be used; nothing if it works. Fails if it does not run.
Result<std::string> verdict_of(const Probe& probe, const std::shared_ptr<VulkanDevice>& device);

}  // namespace weft
