// Formats of texel buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/types/dtype.h"
#include "runtime/vulkan/call.h"

namespace weft {

// VK_FORMAT_UNDEFINED for elements that no texel holds. bf16 is bits, bool one byte.
VkFormat texel_format(DType dtype, int width);

}  // namespace weft
