// How kernels are made for devices by vendor and driver, before anything is tuned: a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "runtime/vulkan/device_facts.h"

namespace weft::vulkan {

// Sizes of tiles, to be cut to what a device reports.
struct DeviceTiles {
  bool workgroup = true;      // sides of products in workgroup memory, else all in registers
  int64_t invocations = 128;  // of a workgroup of the workgroup form
  int64_t registers = 128;    // words that an invocation has for tiles
  int64_t rows = 8;           // of a product, per invocation
  int64_t packs = 2;          // columns likewise, in fours
  int64_t queries = 1;        // of attention, per invocation
  int64_t queries_backward = 1;
  int64_t map_packs = 4;  // of elementwise work, per invocation
  int64_t map_waves = 4;  // subgroups of a workgroup there, in the register form
  int64_t map_steps = 1;  // that a workgroup walks there
};

struct DeviceRow {
  const char* name = "";
  uint32_t vendor = 0;      // 0: any
  const char* driver = "";  // a part of its name
  const char* kind = "";    // "cpu"; empty: any
  bool texel_loads = false;
  DeviceTiles tiles = {};
};

std::span<const DeviceRow> device_rows();
// The first one that a device is like.
const DeviceRow& row_of(const VulkanFacts& device);
// Its tiles in a form; if it is not the row's own, those of any device.
const DeviceTiles& tiles_of(const DeviceRow& row, bool workgroup);

}  // namespace weft::vulkan
