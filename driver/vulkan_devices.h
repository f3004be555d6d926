// The Vulkan devices of this machine, as `weft devices` shows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "driver/devices.h"

namespace weft {

// Each with its self-test run. One entry that says why where there is none.
std::vector<Device> list_vulkan_devices();

}  // namespace weft
