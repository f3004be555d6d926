// Does a driver keep what it promises? A small kernel for each feature, against known answers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ir/support/result.h"

namespace weft {

class VulkanDevice;

// Refuses the features whose probes fail (VulkanFeature::refused). The verdict is kept in the
// folder, if there is one, for this device, driver and these probes. WEFT_VULKAN_LIE=FEATURE makes
// a probe's answer wrong, as of a driver that lies; then nothing is kept.
// Fails only if a device cannot run anything.
Status self_test(const std::shared_ptr<VulkanDevice>& device, const std::string& cache_folder);

}  // namespace weft
