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

DTypeSet types_refused();  // that the device does not compute in
bool has_type_refused(const Module& module);

}  // namespace weft
