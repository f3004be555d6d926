// SPDX-License-Identifier: Apache-2.0
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

std::shared_ptr<VulkanLog> log() {
  static const auto shared = std::make_shared<VulkanLog>();
  return shared;
}

}  // namespace

VulkanLog& shared_vulkan_log() { return *log(); }

std::shared_ptr<VulkanDevice> shared_vulkan_device() {
  static const std::shared_ptr<VulkanDevice> device = [] {
    VulkanOptions options;
    options.validation = VulkanValidation::core;
    options.log = log();
    Result<std::shared_ptr<VulkanDevice>> opened = open_vulkan(options);
    return opened.ok() ? *opened : nullptr;
  }();
  return device;
}

bool computes_in_f64(const Module& module) {
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) {
      for (const Type& type : node.types) {
        if (type.dtype == DType::f64) return true;
      }
    }
  }
  return false;
}

}  // namespace weft
