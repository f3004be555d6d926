// Contexts on a Vulkan device: every kind of buffer, view and step, state, checks, times.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "ir/oracle/oracle.h"
#include "runtime/files/element_bytes.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/sample.h"

namespace weft {
namespace {

class VulkanContextTest : public VulkanTest {
 protected:
  Context make(Executable executable = vulkan_sample(), bool poison = true) {
    ContextOptions options{.threads = 2, .seed = 42, .poison = poison};
    options.vulkan = device_;
    return Context::create(load_sample(std::move(executable)), options).value();
  }
};
INSTANTIATE_TEST_SUITE_P(Memory, VulkanContextTest, testing::Bool(), staging_name);

std::vector<float> ramp(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

std::vector<float> run(Context& context, const std::string& graph, const std::string& dim,
                       int64_t size, int64_t elements) {
  BoundPtr bound = context.bind(graph, {{dim, size}}).value();
  std::vector<float> x = ramp(elements);
  std::vector<float> y(x.size());
  Status status = context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)});
  EXPECT_TRUE(status.ok()) << render(status.diagnostics());
  return y;
}

std::vector<float> storage(Context& context, const std::string& name) {
  auto bytes = context.storage(name).value();
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_P(VulkanContextTest, OneExecutableServesAllSizes) {
  Context context = make();
  int64_t largest = 0;
  for (int64_t b : {7, 1, 64, 3, 1000, 2, 70'000, 31, 8}) {
    if (b * 3 > facts_of(*device_).texel_elements) continue;
    largest = std::max(largest, b);
    for (int again = 0; again < 2; ++again) {
      const std::vector<float> x = ramp(b * 3);
      std::vector<float> y = run(context, "forward", "B", b, b * 3);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i] + 1) << b << " " << i;
      if (b > 1000) continue;  // as many launches as rows / 4
      y = run(context, "chunks", "B", b, b * 3);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i]) << b << " " << i;
    }
  }
  EXPECT_EQ(context.report().arena_bytes, 2 * aligned(largest * 3 * 4, 256));
  EXPECT_EQ(context.report().recompilations, 0);
}

TEST_P(VulkanContextTest, WideTexelsReachTheLastElement) {
  Context context = make();
  for (int64_t n : {1, 3, 4, 5, 1000, 1003}) {
    const std::vector<float> y = run(context, "wide", "N", n, n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<size_t>(i)], i + 2) << n << " " << i;
  }
}

// An input without data is the last run's, an output without data stays on the device.
TEST_P(VulkanContextTest, TensorsMayStayOnTheDevice) {
  Context context = make();
  const BoundPtr bound = context.bind("forward", {{"B", 2}}).value();
  const std::vector<float> x = ramp(6);
  std::vector<float> y(6);
  const std::vector<ConstBytes> kept_input = {{nullptr, 24}};
  const std::vector<MutableBytes> kept_output = {{nullptr, 24}};
  const Status early = context.run(bound, kept_input, std::vector{room_in(y)});
  ASSERT_FALSE(early.ok());
  EXPECT_NE(render(early.diagnostics()).find("input x has no data"), std::string::npos);
  ASSERT_TRUE(context.run(bound, std::vector{bytes_of(x)}, kept_output).ok());
  EXPECT_EQ(y, std::vector<float>(6));
  const int64_t before = runs_of(*device_).submissions;
  ASSERT_TRUE(context.run(bound, kept_input, std::vector{room_in(y)}).ok());
  EXPECT_EQ(runs_of(*device_).submissions, before + 1);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 4 * x[i] + 1) << i;
  // Another binding has taken its place.
  run(context, "forward", "B", 1, 3);
  EXPECT_FALSE(context.run(bound, kept_input, std::vector{room_in(y)}).ok());
}

TEST_P(VulkanContextTest, StateIsUpdatedAndBlocksLieEndToEnd) {
  Context context = make();
  const std::vector<float> m = storage(context, "m");
  BoundPtr bound = context.bind("count", {}).value();
  std::vector<float> n(2);
  for (int i = 1; i <= 3; ++i) {
    Status status = context.run(bound, {}, std::vector{room_in(n)});
    ASSERT_TRUE(status.ok()) << render(status.diagnostics());
    EXPECT_EQ(n, (std::vector<float>{1.0f * i, 2.0f * i}));
  }
  EXPECT_EQ(storage(context, "n"), (std::vector<float>{3, 6}));
  const std::vector<float> after = storage(context, "m");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(after[i], m[i] + 3.0f * static_cast<float>(i + 3));
  }
}

TEST_P(VulkanContextTest, InitialValuesAreTheOracles) {
  Context context = make();
  const Executable& executable = context.loaded().executable();
  std::string expected;
  append_bytes(initial_elements(executable.storage[2], {3}, 42, 0, 3), DType::f32, expected);
  const std::vector<float> m = storage(context, "m");
  ASSERT_EQ(m.size() * sizeof(float), expected.size());
  EXPECT_EQ(std::memcmp(m.data(), expected.data(), expected.size()), 0);
  context.reset_storage(43);
  EXPECT_NE(storage(context, "m"), m);
  context.reset_storage(42);
  EXPECT_EQ(storage(context, "m"), m);
}

TEST_P(VulkanContextTest, StorageIsSetCopiedAndResized) {
  Context context = make();
  const std::vector<float> two = {5, 6};
  ASSERT_TRUE(context.set_storage("n", std::as_bytes(std::span(two))).ok());
  EXPECT_EQ(storage(context, "@n"), two);
  ASSERT_TRUE(context.resize_storage("cache", {2, 3}).ok());
  const std::vector<float> six = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(context.set_storage("cache", std::as_bytes(std::span(six))).ok());
  const StorageCopy row[] = {{12, 0, 12}};
  ASSERT_TRUE(context.copy_within_storage("cache", row).ok());
  EXPECT_EQ(storage(context, "cache"), (std::vector<float>{4, 5, 6, 4, 5, 6}));
  ASSERT_TRUE(context.resize_storage("cache", {500, 3}).ok());
  BoundPtr bound = context.bind("keep", {{"B", 500}}).value();
  const std::vector<float> x = ramp(1500);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(context.run(bound, std::vector{bytes_of(x)}, {}).ok());
  const std::vector<float> kept = storage(context, "cache");
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(kept[i], 2 * x[i] + static_cast<float>(4 + i % 3));
  EXPECT_FALSE(context.set_storage("n", std::as_bytes(std::span(six))).ok());
}

TEST_P(VulkanContextTest, AnIndexOutOfRangeIsAnError) {
  Context context = make();
  BoundPtr bound = context.bind("lookup", {{"B", 3}}).value();
  const std::vector<float> table = ramp(15);
  std::vector<float> rows(9);
  auto run_with = [&](const std::vector<int32_t>& index) {
    return context.run(bound, std::vector{bytes_of(index), bytes_of(table)},
                       std::vector{room_in(rows)});
  };
  ASSERT_TRUE(run_with({4, 0, 2}).ok());
  EXPECT_EQ(rows, (std::vector<float>{26, 28, 30, 2, 4, 6, 14, 16, 18}));
  Status status = run_with({4, 5, 2});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(render(status.diagnostics()).find("kernel lookup (rows): index of the table"),
            std::string::npos);
  EXPECT_TRUE(run_with({0, 1, 2}).ok());
}

TEST_P(VulkanContextTest, TimesEachStep) {
  Context context = make(vulkan_sample(), false);
  BoundPtr bound = context.bind("forward", {{"B", 100}}).value();
  const std::vector<float> x = ramp(300);
  std::vector<float> y(300);
  std::vector<int64_t> times(bound->steps.size(), 0);
  Status status = context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)}, times);
  ASSERT_TRUE(status.ok()) << render(status.diagnostics());
  for (int64_t time : times) EXPECT_GT(time, 0);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 4 * x[i] + 1);
}

TEST_P(VulkanContextTest, TooLargeForTheDeviceNamesTheTensor) {
  ::setenv(kVulkanLimits, "storage_range=4096", 1);
  device_ = open_vulkan(options_).value();
  ::unsetenv(kVulkanLimits);
  Context context = make();
  EXPECT_TRUE(context.bind("forward", {{"B", 341}}).ok());
  Result<BoundPtr> bound = context.bind("forward", {{"B", 342}});
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(render(bound.diagnostics()).find("kernel twice sees x of"), std::string::npos)
      << render(bound.diagnostics());
}

TEST_P(VulkanContextTest, AMissingBarrierIsFound) {
  Executable executable = vulkan_sample();
  executable.kernels[kTwice].bindings[0].reads = false;  // so no barrier is put before it
  Context context = make(std::move(executable), false);
  Result<BoundPtr> bound = context.bind("forward", {{"B", 5}});
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(render(bound.diagnostics()).find("SYNC-HAZARD-READ-AFTER-WRITE"), std::string::npos)
      << render(bound.diagnostics());
}

TEST_P(VulkanContextTest, RefusesWhatTheDeviceLacks) {
  auto fails = [&](const Executable& executable, const std::string& text) {
    ContextOptions options;
    options.vulkan = device_;
    Result<Context> made = Context::create(load_sample(executable), options);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(render(made.diagnostics()).find(text), std::string::npos);
  };
  Executable executable = vulkan_sample();
  executable.kernels[kWide].needs = {"time_travel"};
  fails(executable, "kernel wide needs time_travel");
  executable = vulkan_sample();
  executable.kernels[kWide].subgroup = 3;
  fails(executable, "kernel wide is for subgroups of 3");
  executable = vulkan_sample();
  executable.kernels[kWide].workgroup = 1 << 20;
  fails(executable, "kernel wide has workgroups of 1048576 invocations");
}

}  // namespace
}  // namespace weft
