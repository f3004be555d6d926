// A module on a Vulkan device against the oracle, kernel by kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "driver/verify_device.h"
#include "ir/text/text.h"

namespace weft {

// Any message of the validation layers is a failure of the run. `graph`: empty if there is but one.
inline void expect_agrees(const Module& module, const DimBinding& sizes, uint64_t seed,
                          simt::Mapping mapping, const std::string& graph = "") {
  SCOPED_TRACE(simt::str({mapping}));
  DeviceVerifyOptions options;
  options.request.form.mapping = mapping;
  options.request.device = "vulkan";
  options.common.dims = sizes;
  options.common.seed = seed;
  options.common.graph = graph;
  const Result<DeviceVerifyReport> report = verify_device(module, options);
  ASSERT_TRUE(report.ok()) << render(report.diagnostics()) << print(module);
  EXPECT_TRUE(report->ok()) << report->difference << print(module);
}

}  // namespace weft
