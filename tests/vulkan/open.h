// A Vulkan device for tests: validated for its whole life.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "runtime/vulkan/open.h"
#include "tests/support/suite.h"
#include "tests/vulkan/shared_device.h"

namespace weft {

inline VulkanValidation test_validation() {
  return suite() == "slow" ? VulkanValidation::gpu_assisted : VulkanValidation::core;
}
// Of devices that are opened by name, by what a test calls. Mesa's driver on a CPU compiles what
// GPU-assisted validation makes of long kernels for a quarter of an hour: there `long_kernels` go
// without it in the slow suite too. SwiftShader takes seconds.
inline void ask_for_validation(bool long_kernels = false) {
  const std::shared_ptr<VulkanDevice> device = shared_vulkan_device();
  const bool is_mesa = device != nullptr && facts_of(*device).driver == "llvmpipe";
  const bool assisted = suite() == "slow" && !(long_kernels && is_mesa);
  ::setenv("WEFT_VULKAN_VALIDATION", assisted ? "gpu" : "1", 1);
}

// Tests on a device with and without memory that the host sees. Each fails on any message of the
// validation layers, also on those that come as the device is closed. Skipped without a device.
class VulkanTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    options_.validation = test_validation();
    options_.log = log_;
    options_.staging = GetParam();
    device_ = open_test_device(options_);
    if (device_ == nullptr) GTEST_SKIP() << "no Vulkan device";
  }
  void TearDown() override {
    std::weak_ptr<VulkanDevice> last = device_;
    device_.reset();
    EXPECT_TRUE(last.expired()) << "a test closes its contexts";
    for (const std::string& message : log_->take()) ADD_FAILURE() << message;
  }

  std::shared_ptr<VulkanLog> log_ = std::make_shared<VulkanLog>();
  VulkanOptions options_;
  std::shared_ptr<VulkanDevice> device_;
};

inline std::string staging_name(const testing::TestParamInfo<bool>& info) {
  return info.param ? "Staged" : "Direct";
}

}  // namespace weft
