// One validated Vulkan device for all tests of a process that compile kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ir/graph/module.h"
#include "runtime/vulkan/open.h"

namespace weft {

VulkanLog& shared_vulkan_log();
// Null where there is none.
std::shared_ptr<VulkanDevice> shared_vulkan_device();

// Devices have no arithmetic in f64 as far as Weft is concerned, and it says so.
bool computes_in_f64(const Module& module);

}  // namespace weft
