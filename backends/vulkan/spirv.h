// GLSL to SPIR-V, in process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace weft::vulkan {

// A compute shader for Vulkan 1.2. Errors in the text are faults of ours.
Result<std::vector<uint32_t>> compile_glsl(const std::string& name, const std::string& text);

}  // namespace weft::vulkan
