// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/formats.h"

namespace weft {
namespace {

VkFormat pick(int width, VkFormat one, VkFormat two, VkFormat four) {
  switch (width) {
    case 1: return one;
    case 2: return two;
    case 4: return four;
    default: return VK_FORMAT_UNDEFINED;
  }
}

}  // namespace

VkFormat texel_format(DType dtype, int width) {
  switch (dtype) {
    case DType::f32:
      return pick(width, VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32_SFLOAT,
                  VK_FORMAT_R32G32B32A32_SFLOAT);
    case DType::f16:
      return pick(width, VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16G16_SFLOAT,
                  VK_FORMAT_R16G16B16A16_SFLOAT);
    case DType::bf16:
      return pick(width, VK_FORMAT_R16_UINT, VK_FORMAT_R16G16_UINT, VK_FORMAT_R16G16B16A16_UINT);
    case DType::i32:
      return pick(width, VK_FORMAT_R32_SINT, VK_FORMAT_R32G32_SINT, VK_FORMAT_R32G32B32A32_SINT);
    case DType::u32:
      return pick(width, VK_FORMAT_R32_UINT, VK_FORMAT_R32G32_UINT, VK_FORMAT_R32G32B32A32_UINT);
    case DType::i8:
      return pick(width, VK_FORMAT_R8_SINT, VK_FORMAT_R8G8_SINT, VK_FORMAT_R8G8B8A8_SINT);
    case DType::u8:
    case DType::boolean:
      return pick(width, VK_FORMAT_R8_UINT, VK_FORMAT_R8G8_UINT, VK_FORMAT_R8G8B8A8_UINT);
    case DType::f64:
    case DType::i64: return VK_FORMAT_UNDEFINED;
  }
  return VK_FORMAT_UNDEFINED;
}

}  // namespace weft
