// Executables for Vulkan as files, and what is refused before a device is asked.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "runtime/executable_file.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/sample.h"

namespace weft {
namespace {

class VulkanExecutable : public VulkanTest {};
INSTANTIATE_TEST_SUITE_P(Memory, VulkanExecutable, testing::Values(false), staging_name);

TEST_P(VulkanExecutable, RunsFromAFile) {
  const std::string bytes = write_executable(vulkan_sample());
  Result<Executable> read = read_executable("x.weftx", bytes);
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  EXPECT_EQ(write_executable(*read), bytes);
  ContextOptions options;
  options.vulkan = device_;
  Context context = Context::create(load_sample(std::move(read).value()), options).value();
  BoundPtr bound = context.bind("lookup", {{"B", 2}}).value();
  const std::vector<int32_t> index = {1, 4};
  const std::vector<float> table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  std::vector<float> rows(6);
  ASSERT_TRUE(
      context.run(bound, std::vector{bytes_of(index), bytes_of(table)}, std::vector{room_in(rows)})
          .ok());
  EXPECT_EQ(rows, (std::vector<float>{6, 8, 10, 24, 26, 28}));
}

TEST(VulkanExecutableFile, WhatDoesNotFitTogetherIsRefused) {
  using Change = std::function<void(Executable&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"bytes of code", [](Executable& e) { e.kernels[0].entry = e.code.size(); }},
      {"bytes of code", [](Executable& e) { e.kernels[0].entry = UINT64_MAX - 3; }},
      {"bytes of code", [](Executable& e) { e.kernels[0].entry = 2; }},
      {"bytes of code", [](Executable& e) { e.kernels[0].bytes = e.code.size() + 4; }},
      {"bytes of code", [](Executable& e) { e.kernels[0].bytes = 0; }},
      {"is no SPIR-V", [](Executable& e) { e.code[0] = std::byte{1}; }},
      {"binds buffer 2 of 2", [](Executable& e) { e.kernels[0].bindings[0].buffer = 2; }},
      {"texels of 3", [](Executable& e) { e.kernels[kWide].bindings[0].width = 3; }},
      {"texels of 0", [](Executable& e) { e.kernels[kWide].bindings[0].width = 0; }},
      {"writes to a texel", [](Executable& e) { e.kernels[kWide].bindings[0].writes = true; }},
      {"no invocations", [](Executable& e) { e.kernels[0].workgroup = 0; }},
      {"does not make",
       [](Executable& e) {
         e.packed.push_back({"c", "w", DType::f32, 0, 3, kAccumulate, {}});
       }},
  };
  for (const auto& [reason, change] : changes) {
    Executable executable = vulkan_sample();
    change(executable);
    Result<LoadedPtr> loaded = LoadedExecutable::load(std::move(executable));
    ASSERT_FALSE(loaded.ok()) << reason;
    EXPECT_NE(render(loaded.diagnostics()).find(reason), std::string::npos)
        << render(loaded.diagnostics());
  }
}

}  // namespace
}  // namespace weft
