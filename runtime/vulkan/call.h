// What a Vulkan function returned, as a Result.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <string>

#include "ir/support/result.h"

namespace weft {

std::string describe(VkResult result);

// `doing` follows "vulkan: ": "creating a buffer".
Status vk_status(VkResult result, const std::string& doing);

Error no_vulkan_device();  // that there is none

}  // namespace weft
