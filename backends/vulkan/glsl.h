// Kernels as GLSL compute shaders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/simt/lower.h"

namespace weft::vulkan {

// The whole shader. `in_buffer`: the launch's numbers come in a uniform buffer.
std::string print_glsl(const tile::Program& program, const simt::Lowered& lowered, bool in_buffer);

// Functions that GLSL has not, or has not well enough: those whose names occur in `body`.
std::string math_functions(const std::string& body);

}  // namespace weft::vulkan
