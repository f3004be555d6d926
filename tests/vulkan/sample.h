// The sample plan with kernels for Vulkan, which use every kind of view: see
// tests/support/sample_plan.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/sample_plan.h"

namespace weft {

// The number of its kernel beside those of the plan.
inline constexpr uint32_t kWide = kKeep + 1;

// B is at most 100,000,000, and so is N:
//   @wide(x: f32[N]) -> (y: f32[N])                y = x + 1
Executable vulkan_sample();
LoadedPtr load_sample(Executable executable);

}  // namespace weft
