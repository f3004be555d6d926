// One validated Vulkan device for all tests of a process that compile kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ir/graph/module.h"
#include "runtime/vulkan/open.h"

namespace weft {

// Null if this machine has no usable device or no validation layer. A device that is there and does
// not open is a failure of the test that asks first.
std::shared_ptr<VulkanDevice> open_test_device(const VulkanOptions& options);

VulkanLog& shared_vulkan_log();
// Null where there is none.
std::shared_ptr<VulkanDevice> shared_vulkan_device();

DTypeSet types_refused();  // that the device does not compute in
bool has_type_refused(const Module& module);

}  // namespace weft
