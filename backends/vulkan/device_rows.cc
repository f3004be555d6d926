// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/device_rows.h"

#include <algorithm>
#include <string_view>

namespace weft::vulkan {
namespace {

// What a core walks in order: each workgroup costs it something.
constexpr DeviceTiles kProcessor = {.workgroup = false,
                                    .queries = 4,
                                    .queries_backward = 2,
                                    .map_packs = 1,
                                    .map_waves = 1,
                                    .map_steps = 64};

constexpr DeviceTiles kLlvmpipe = [] {
  DeviceTiles tiles = kProcessor;
  // Fetching a texel costs Mesa's CPU driver as much as a dozen products: 1.24 times the speed of
  // two fours of columns on a processor with AVX-512.
  tiles.packs = 4;
  return tiles;
}();

constexpr DeviceTiles kAnyRegisters = {.workgroup = false, .queries = 4, .queries_backward = 2};
constexpr DeviceTiles kAnyWorkgroup = {};

// Rows of drivers on a CPU were measured; those of GPUs never were. They follow from what is
// generally known: sizes of subgroups (NVIDIA and Apple 32, AMD 32 or 64, Intel 8 to 32, Qualcomm
// 64 or 128, Arm 4 to 16), registers before fewer subgroups fit, 32 KiB or more of workgroup
// memory, and that storage buffers are cached as well as texels are.
constexpr DeviceRow kRows[] = {
    {"llvmpipe", 0, "llvmpipe", "cpu", true, kLlvmpipe},
    // Its texel buffers have 65,536 elements.
    {"SwiftShader", 0, "SwiftShader", "cpu", false, kProcessor},
    {"a processor", 0, "", "cpu", true, kProcessor},
    {"NVIDIA", 0x10DE, "", "", false, {.invocations = 128, .registers = 128}},
    {"AMD", 0x1002, "", "", false, {.invocations = 256, .registers = 128}},
    // 128 registers of 32 bytes a thread: 64 words for each of 16 invocations.
    {"Intel", 0x8086, "", "", false, {.registers = 64, .rows = 8, .packs = 1}},
    // Workgroup memory is ordinary memory there, and half of the threads run beyond 32 registers.
    {"Arm",
     0x13B5,
     "",
     "",
     false,
     {.workgroup = false, .registers = 32, .rows = 4, .packs = 1, .map_packs = 2}},
    {"Qualcomm", 0x5143, "", "", false, {.registers = 64, .rows = 4, .packs = 2}},
    {"Apple", 0x106B, "", "", false, {.registers = 96, .rows = 8, .packs = 1}},
    {"any", 0, "", "", false, kAnyWorkgroup},
};

}  // namespace

std::span<const DeviceRow> device_rows() { return kRows; }

const DeviceRow& row_of(const VulkanFacts& device) {
  return *std::ranges::find_if(kRows, [&](const DeviceRow& row) {
    const bool vendor = row.vendor == 0 || row.vendor == device.vendor;
    const bool kind = *row.kind == 0 || row.kind == device.kind;
    return vendor && kind && device.driver.find(row.driver) != std::string::npos;
  });
}

const DeviceTiles& tiles_of(const DeviceRow& row, bool workgroup) {
  if (row.tiles.workgroup == workgroup) return row.tiles;
  return workgroup ? kAnyWorkgroup : kAnyRegisters;
}

}  // namespace weft::vulkan
