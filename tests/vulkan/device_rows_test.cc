// The table of devices as data: each row makes kernels within what such a device has.
// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/device_rows.h"

#include <gtest/gtest.h>

#include "backends/simt/lower.h"
#include "backends/vulkan/compile.h"
#include "driver/compile.h"
#include "ir/tile/text.h"
#include "models/zoo.h"
#include "tests/vulkan/kernels.h"
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

// As such devices report themselves: the least subgroup and workgroup memory that are common.
VulkanFacts device_like(const vulkan::DeviceRow& row, uint32_t subgroup) {
  VulkanFacts facts;
  facts.vendor = row.vendor;
  facts.driver = *row.driver == 0 ? "a driver" : row.driver;
  facts.kind = *row.kind == 0 ? "discrete" : row.kind;
  facts.subgroup = facts.min_subgroup = facts.max_subgroup = subgroup;
  facts.max_workgroup = row.vendor == 0x13B5 ? 384 : 1024;
  facts.shared_bytes = 32768;
  facts.texel_elements = row.vendor == 0 ? 1 << 27 : 65536;
  for (const char* name : {"subgroup_shuffle", "storage16", "int16", "storage8", "int8", "int64",
                           "texel_buffer", "image_buffer"}) {
    facts.features.push_back({name, true});
  }
  return facts;
}

// Subgroups that devices of a row have.
std::vector<uint32_t> subgroups_of(const vulkan::DeviceRow& row) {
  switch (row.vendor) {
    case 0x1002: return {32, 64};
    case 0x8086: return {8, 16, 32};
    case 0x13B5: return {4, 8, 16};
    case 0x5143: return {64, 128};
    case 0: return {4, 8, 32, 64};
    default: return {32};
  }
}

int64_t shared_bytes(const simt::Lowered& lowered) {
  int64_t bytes = lowered.uses_exchange ? lowered.layout.invocations() * 4 : 0;
  for (const auto& [name, array] : lowered.shared) {
    bytes += array.size * (array.type == "vec4" ? 16 : array.type == "float" ? 4 : 2);
  }
  return bytes;
}

void expect_fits(tile::Program program, const std::vector<bool>& aligned,
                 const simt::Profile& profile, const VulkanFacts& device) {
  const Result<simt::Layout> layout = simt::choose_layout(program, profile, aligned);
  ASSERT_TRUE(layout.ok()) << render(layout.diagnostics()) << tile::print(program);
  const Result<simt::Lowered> lowered = simt::lower(program, *layout, profile, aligned);
  ASSERT_TRUE(lowered.ok()) << render(lowered.diagnostics()) << tile::print(program);
  EXPECT_LE(layout->invocations(), device.max_workgroup) << program.name;
  EXPECT_LE(shared_bytes(*lowered), device.shared_bytes) << program.name;
}

TEST(DeviceRows, ADeviceFindsItsOwn) {
  for (const vulkan::DeviceRow& row : vulkan::device_rows()) {
    EXPECT_STREQ(vulkan::row_of(device_like(row, 32)).name, row.name);
  }
  VulkanFacts unknown;
  unknown.vendor = 0x1234;
  unknown.kind = "integrated";
  EXPECT_STREQ(vulkan::row_of(unknown).name, "any");
  // Who made the processor says nothing about a driver that runs on it.
  unknown.vendor = 0x8086;
  unknown.kind = "cpu";
  EXPECT_STREQ(vulkan::row_of(unknown).name, "a processor");
}

// Sums and one step's sides; what else there is needs a quarter more.
TEST(DeviceRows, TilesOfProductsFitInRegisters) {
  for (const vulkan::DeviceRow& row : vulkan::device_rows()) {
    const vulkan::DeviceTiles& tiles = row.tiles;
    const int64_t words = tiles.rows * tiles.packs * 4 + tiles.rows + tiles.packs * 4;
    EXPECT_TRUE(*row.kind != 0 || words * 5 / 4 <= tiles.registers) << row.name << " " << words;
  }
}

TEST(DeviceRows, AProductCompilesInTheirForm) {
  for (const vulkan::DeviceRow& row : vulkan::device_rows()) {
    for (uint32_t subgroup : subgroups_of(row)) {
      SCOPED_TRACE(cat(row.name, ", subgroups of ", subgroup));
      const VulkanFacts device = device_like(row, subgroup);
      std::vector<tile::Program> programs = {
          tile::parse("kernel.tile", product_kernel("f32", /*bias=*/true)).value()};
      const vulkan::Target target = vulkan::target_of(device, {});
      EXPECT_EQ(target.profile.workgroup, row.tiles.workgroup);
      EXPECT_EQ(target.profile.texel_loads, row.texel_loads);
      expect_fits(programs[0], std::vector<bool>(4, true), target.profile, device);
      const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(4)};
      const auto made = vulkan::compile_programs(programs, facts, target, true);
      ASSERT_TRUE(made.ok()) << render(made.diagnostics());
      const bool tiles = made->texts[0].glsl.find("shared vec4 tile_left") != std::string::npos;
      EXPECT_EQ(tiles, row.tiles.workgroup) << made->texts[0].glsl.substr(0, 400);
    }
  }
}

TEST(DeviceRows, AModelIsLoweredWithinTheirLimits) {
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Preset& preset = *find_preset("gpt-char");
  Module module = preset.build_with(preset.config).value();
  std::erase_if(module.graphs, [](const Graph& graph) { return graph.name() != "forward"; });
  CompileRequest request;
  request.device = "vulkan";
  const PlannedModule planned = plan_module(module, request).value();
  const vulkan::ProgramFacts facts =
      vulkan::program_facts(planned.plan, planned.module.storage, {});
  for (const vulkan::DeviceRow& row : vulkan::device_rows()) {
    for (uint32_t subgroup : subgroups_of(row)) {
      SCOPED_TRACE(cat(row.name, ", subgroups of ", subgroup));
      const VulkanFacts device = device_like(row, subgroup);
      for (size_t i = 0; i < planned.plan.programs.size(); ++i) {
        std::vector<bool> aligned;
        for (const vulkan::BufferFacts& buffer : facts[i]) aligned.push_back(buffer.aligned);
        expect_fits(planned.plan.programs[i], aligned, vulkan::profile_of(device, {}), device);
      }
    }
  }
}

}  // namespace
}  // namespace weft
