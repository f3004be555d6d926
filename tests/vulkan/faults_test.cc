// Deliberate faults: each has to be found, in kernels that Weft wrote.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/compile.h"
#include "driver/vulkan_devices.h"
#include "ir/text/text.h"
#include "runtime/context.h"
#include "tests/support/suite.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/sample.h"

namespace weft {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Several kernels that wait for each other: reductions, products, an index into a table.
constexpr const char* kModel = R"(param @table: f32[11, 24] = normal(1)
param @w: f32[24, 40] = normal(1)
param @v: f32[40, 24] = normal(1)
graph @forward(%index: i32[B, 6]) -> (y: f32[B, 6, 24]) {
  %x = gather @table, %index
  %p = matmul %x, @w
  %s = softmax %p
  %q = matmul %s, @v
  %t = softmax %q
  %r = matmul %t, @w
  %y = matmul %r, @v
  return %y
}
)";

Executable compiled(const std::string& text) {
  CompileRequest request;
  request.device = "vulkan";
  Result<Module> module = parse("model.weft", text);
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  Result<Compiled> made = compile(std::move(module).value(), request);
  EXPECT_TRUE(made.ok()) << render(made.diagnostics());
  return std::move(made)->executable;
}

class VulkanFaults : public VulkanTest {};
INSTANTIATE_TEST_SUITE_P(Memory, VulkanFaults, testing::Values(false), staging_name);

TEST_P(VulkanFaults, EveryRemovedBarrierIsFound) {
  const Executable executable = compiled(kModel);
  int64_t found = 0;
  for (;; ++found) {
    VulkanOptions options = options_;
    options.drop_barrier = found;
    ContextOptions context_options;
    context_options.vulkan = open_vulkan(options).value();
    Context context = Context::create(load_sample(executable), context_options).value();
    Result<BoundPtr> bound = context.bind("forward", {{"B", 2}});
    if (bound.ok()) break;  // it has no barrier of this number
    EXPECT_THAT(render(bound.diagnostics()), HasSubstr("SYNC-HAZARD")) << found;
  }
  EXPECT_GE(found, 2);
}

// Sizes that a kernel is given beyond those of its buffers.
TEST_P(VulkanFaults, AnIndexPastTheEndIsFound) {
  if (suite() != "slow") GTEST_SKIP() << "GPU-assisted validation is for the slow suite";
  Executable executable = compiled(R"(graph @forward(%x: f32[B, 8]) -> (y: f32[B, 8]) {
  %y = exp %x
  return %y
}
)");
  for (Kernel& kernel : executable.kernels) {
    for (Dim& arg : kernel.args) arg = arg * 100;
    kernel.programs = kernel.programs * 100;
  }
  VulkanOptions options = options_;
  options.validation = VulkanValidation::gpu_assisted;
  ContextOptions context_options;
  context_options.vulkan = open_vulkan(options).value();
  Context context = Context::create(load_sample(executable), context_options).value();
  BoundPtr bound = context.bind("forward", {{"B", 3}}).value();
  const std::vector<float> x(24, 1.0f);
  std::vector<float> y(24);
  Status status = context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(render(status.diagnostics()), HasSubstr("out of bounds"));
}

TEST_P(VulkanFaults, DevicesTellWhichFeatureFailed) {
  ::setenv("WEFT_VULKAN_LIE", "subgroup_shuffle", 1);
  const std::vector<Device> devices = list_vulkan_devices();
  ::unsetenv("WEFT_VULKAN_LIE");
  ASSERT_FALSE(devices.empty());
  EXPECT_TRUE(devices[0].usable);
  EXPECT_THAT(devices[0].verdict, HasSubstr("not used: subgroup_shuffle: its self-test gave"));
}

TEST_P(VulkanFaults, DevicesTellWhatABugReportNeeds) {
  const VulkanFacts& facts = facts_of(*device_);
  const std::vector<Device> devices = list_vulkan_devices();
  auto fact = [&](const std::string& name) {
    for (const auto& [key, text] : devices.at(facts.index).facts) {
      if (key == name) return text;
    }
    return std::string();
  };
  EXPECT_THAT(fact("driver version"), EndsWith("(" + std::to_string(facts.driver_version) + ")"));
  EXPECT_THAT(fact("ids"), StartsWith("vendor 0x"));
  EXPECT_THAT(fact("uniform range"), HasSubstr(" KiB"));
  // Kernels of models have about so many buffers.
  EXPECT_THAT(fact("bindings"), StartsWith("storage " + std::to_string(facts.storage_bindings)));
  const bool limited = facts.loop_limit > 0;
  EXPECT_EQ(fact("loop limit"),
            limited ? std::to_string(facts.loop_limit) + " iterations" : "none");
}

// What a kernel may not rely on follows from the verdict.
TEST_P(VulkanFaults, DevicesTellWhatKernelsAreMadeOf) {
  auto fact = [](const std::string& name) {
    for (const auto& [key, text] : list_vulkan_devices().at(0).facts) {
      if (key == name) return text;
    }
    return std::string();
  };
  EXPECT_THAT(fact("kernels"), HasSubstr("rows by shuffles"));
  EXPECT_THAT(fact("shared memory"), HasSubstr(" KiB"));
  EXPECT_THAT(fact("lacks"), HasSubstr("cooperative_matrix"));
  ::setenv("WEFT_VULKAN_LIE", "subgroup_shuffle", 1);
  EXPECT_THAT(fact("kernels"), HasSubstr("rows by workgroup memory"));
  ::unsetenv("WEFT_VULKAN_LIE");
}

}  // namespace
}  // namespace weft
