// Tensors beyond what one descriptor shows, and grids beyond one dimension.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "driver/verify_device.h"
#include "ir/text/text.h"
#include "passes/autodiff.h"
#include "runtime/context.h"
#include "tests/support/sample_plan.h"
#include "tests/support/suite.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

// Every device has no more than `limits`, and no feature `lacks`.
class LargeOnVulkan : public testing::Test {
 protected:
  void SetUp() override {
    ask_for_validation();
    if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  }
  void TearDown() override {
    ::unsetenv(kVulkanLimits);
    ::unsetenv("WEFT_VULKAN_LIE");
  }

  static void limit(const char* limits, const char* lacks = "") {
    ::setenv(kVulkanLimits, limits, 1);
    ::setenv("WEFT_VULKAN_LIE", lacks, 1);
  }

  static void expect_right(const Module& module, const DimBinding& dims, bool sizes_known = true) {
    DeviceVerifyOptions options;
    options.common.dims = dims;
    options.request.device = "vulkan";
    if (sizes_known) options.request.sizes = dims;
    Result<DeviceVerifyReport> report = verify_device(module, options);
    ASSERT_TRUE(report.ok()) << render(report.diagnostics());
    EXPECT_EQ(report->difference, "");
  }
};

// Every kind of element: words, halves and bytes, read, written, and both.
constexpr const char* kLayers = R"(param @w: f32[96, 64] = normal(0.2)
param @table: f32[200, 96] = normal(1)
graph @forward(%index: i32[B, 20], %keep: bool[B, 20, 64]) -> (loss: f32[], y: f16[B, 20, 64]) {
  %x = gather @table, %index
  %p = matmul %x, @w
  %s = softmax %p
  %m = select %keep, %s, f32(0)
  %y = cast %m {dtype = f16}
  %sq = mul %m, %p
  %loss = mean %sq {axes = [0, 1, 2]}
  return %loss, %y
}
)";

Module layers() {
  Module module = parse("layers.weft", kLayers).value();
  Status added = add_backward(module, {"forward", "loss", {}, ""});
  EXPECT_TRUE(added.ok()) << render(added.diagnostics());
  return module;
}

TEST_F(LargeOnVulkan, BuffersInPartsAgreeWithTheOracle) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  limit("storage_range=32768", "texel_buffer");
  expect_right(layers(), {{"B", 7}});
}

TEST_F(LargeOnVulkan, PartsOfSmallElementsInWords) {
  if (suite() == "quick") GTEST_SKIP() << "not in the quick suite";
  limit("storage_range=8192", "storage8");
  expect_right(layers(), {{"B", 7}});
  limit("storage_range=8192", "storage16");
  expect_right(layers(), {{"B", 7}});
}

TEST_F(LargeOnVulkan, GridsAreFolded) {
  limit("max_groups=3");
  expect_right(layers(), {{"B", 7}});
}

TEST_F(LargeOnVulkan, WithoutKnownSizesItIsAnErrorThatTellsHow) {
  limit("storage_range=8192", "texel_buffer");
  Module module = parse("exp.weft", R"(graph @forward(%x: f32[N]) -> (y: f32[N]) {
  %y = exp %x
  return %y
}
)")
                      .value();
  expect_right(module, {{"N", 1000}}, false);
  expect_right(module, {{"N", 5000}}, true);
  DeviceVerifyOptions options;
  options.common.dims = {{"N", 5000}};
  options.request.device = "vulkan";
  Result<DeviceVerifyReport> report = verify_device(module, options);
  ASSERT_FALSE(report.ok() && report->ok());
  const std::string said = report.ok() ? report->difference : render(report.diagnostics());
  EXPECT_NE(said.find("shows at most 8192"), std::string::npos) << said;
}

std::vector<uint16_t> run_twice(int64_t count, const std::vector<uint16_t>& x) {
  Module module = parse("twice.weft", R"(graph @twice(%x: f16[N]) -> (y: f16[N]) {
  %y = add %x, %x
  return %y
}
)")
                      .value();
  CompileRequest request;
  request.device = "vulkan";
  request.sizes = {{"N", count}};
  Executable executable = compile(std::move(module), request).value().executable;
  Context context = Context::create(LoadedExecutable::load(std::move(executable)).value()).value();
  BoundPtr bound = context.bind("twice", {{"N", count}}).value();
  std::vector<uint16_t> y(x.size());
  Status status = context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)});
  EXPECT_TRUE(status.ok()) << render(status.diagnostics());
  return y;
}

// Halves are written through storage buffers, of which the least that Vulkan promises is 128 MiB.
TEST_F(LargeOnVulkan, ATensorBeyond128MiB) {
  if (suite() != "slow") GTEST_SKIP() << "for the slow suite: it takes 300 MB";
  const int64_t count = 70'000'003;
  std::vector<uint16_t> x(static_cast<size_t>(count));
  // Numbers whose doubles have one more in the exponent: 1 to 2^14.
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(0x3c00 + i * 7 % 0x3800);
  const std::vector<uint16_t> y = run_twice(count, x);
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) wrong += y[i] != x[i] + 0x400;
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace weft
