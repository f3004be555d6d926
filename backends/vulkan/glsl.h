// Kernels as GLSL compute shaders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/simt/lower.h"
#include "backends/vulkan/glsl_access.h"

namespace weft::vulkan {

struct GlslForm {
  bool numbers_in_buffer = false;  // the launch's numbers come in a uniform buffer
  SmallElements small;
};

// The whole shader.
std::string print_glsl(const tile::Program& program, const simt::Lowered& lowered,
                       const GlslForm& form);

// Functions that GLSL has not, or has not well enough: those whose names occur in `body`.
std::string math_functions(const std::string& body);

}  // namespace weft::vulkan
