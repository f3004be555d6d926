// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/call.h"

#include "runtime/vulkan/open.h"

namespace weft {

std::string describe(VkResult result) {
  switch (result) {
    case VK_SUCCESS: return "success";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "the host is out of memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "the device is out of memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver could not be initialised";
    case VK_ERROR_DEVICE_LOST: return std::string(kDeviceLost);
    case VK_ERROR_MEMORY_MAP_FAILED: return "memory could not be mapped";
    case VK_ERROR_LAYER_NOT_PRESENT: return "a layer is not there";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is not there";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is not there";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "no driver fits";
    case VK_ERROR_TOO_MANY_OBJECTS: return "there are too many objects";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "a pool is exhausted";
    case VK_ERROR_FRAGMENTATION: return "memory is fragmented";
    case VK_ERROR_FRAGMENTED_POOL: return "a pool is fragmented";
    default: return "error " + std::to_string(static_cast<int>(result));
  }
}

Status vk_status(VkResult result, const std::string& doing) {
  if (result == VK_SUCCESS) return ok();
  Error fault = error({}, "vulkan: ", doing, ": ", describe(result));
  switch (result) {
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return std::move(fault).hint("bind smaller sizes, for example B=1");
    case VK_ERROR_DEVICE_LOST:
      return std::move(fault).hint(
          "a kernel may have run too long or the driver failed: create another context, or use "
          "--device cpu");
    default: return fault;
  }
}

Error no_vulkan_device() {
  return error({}, "Vulkan finds no device on this machine")
      .hint("install a driver, for example mesa-vulkan-drivers; or --device cpu");
}

}  // namespace weft
