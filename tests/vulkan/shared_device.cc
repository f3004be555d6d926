// SPDX-License-Identifier: Apache-2.0
#include "tests/vulkan/shared_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/vulkan/open.h"

namespace weft {
namespace {

std::shared_ptr<VulkanLog> log() {
  static const auto shared = std::make_shared<VulkanLog>();
  return shared;
}

bool has_usable_device(const VulkanOptions& options) {
  VulkanOptions quiet;
  quiet.validation = std::min(options.validation, VulkanValidation::core);
  const Result<std::vector<VulkanFacts>> found = vulkan_devices(quiet);
  return found.ok() && choose_vulkan(options.device, *found).ok();
}

}  // namespace

std::shared_ptr<VulkanDevice> open_test_device(const VulkanOptions& options) {
  Result<std::shared_ptr<VulkanDevice>> opened = open_vulkan(options);
  if (opened.ok()) return *opened;
  if (has_usable_device(options)) ADD_FAILURE() << render(opened.diagnostics());
  return nullptr;
}

VulkanLog& shared_vulkan_log() { return *log(); }

std::shared_ptr<VulkanDevice> shared_vulkan_device() {
  static const std::shared_ptr<VulkanDevice> device = [] {
    VulkanOptions options;
    options.validation = test_validation();
    options.log = log();
    return open_test_device(options);
  }();
  return device;
}

DTypeSet types_refused() {
  const bool has_i64 = facts_of(*shared_vulkan_device()).has("int64");
  return set_of(DType::f64) | (has_i64 ? 0 : set_of(DType::i64));
}

bool has_type_refused(const Module& module) {
  for (const Graph& graph : module.graphs) {
    for (const Node& node : graph.nodes()) {
      for (const Type& type : node.types) {
        if (contains(types_refused(), type.dtype)) return true;
      }
    }
  }
  return false;
}

}  // namespace weft
