// What kernels for a device may rely on, and how large their tiles are.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/vulkan/compile.h"
#include "backends/vulkan/device_rows.h"

namespace weft::vulkan {
namespace {

// The largest that subgroups of the device hold as our layouts have it, if there is one.
simt::MatrixShape matrix_of(const VulkanFacts& device) {
  simt::MatrixShape best;
  if (!device.has("cooperative_matrix") || !device.has("float16")) return best;
  for (const VulkanMatrix& matrix : device.matrices) {
    const int64_t lanes = matrix.m == 0 ? 0 : device.subgroup / matrix.m;
    const bool fits = lanes > 0 && device.has(matrix_feature(matrix)) &&
                      device.subgroup % matrix.m == 0 && matrix.n % lanes == 0;
    const bool larger = matrix.m * matrix.n * matrix.k > best.m * best.n * best.k;
    if (fits && larger) best = {matrix.m, matrix.n, matrix.k};
  }
  return best;
}

// The same kernels on a device without matrix units: nothing follows from its subgroups then.
void use_matrices_as_loops(const VulkanFacts& device, simt::Profile& profile) {
  if (!device.has("float16") || device.max_workgroup < 128) return;
  profile.matrix = {16, 16, 16};
  profile.matrices_as_loops = true;
  profile.subgroup = 32;
  profile.shuffles = false;
}

// What the device has and has not.
void take_features(const VulkanFacts& device, simt::Profile& profile) {
  profile.subgroup = device.subgroup;
  profile.shuffles = device.has("subgroup_shuffle");
  profile.int64 = device.has("int64");
  // Elements of a byte or two are read from memory and written to it as numbers of their type.
  profile.storage8 = device.has("storage8") && device.has("int8");
  profile.storage16 = device.has("storage16") && device.has("int16");
  profile.most_numbers = device.push_constant_bytes / 4;
  profile.texels =
      device.has_many_texels() && device.has("texel_buffer") && device.has("image_buffer");
}

void take_tiles(const DeviceTiles& tiles, simt::Profile& profile) {
  profile.workgroup = tiles.workgroup;
  profile.workgroup_invocations = tiles.invocations;
  profile.product_rows = tiles.rows;
  profile.product_packs = tiles.packs;
  profile.flash_rows = tiles.queries;
  profile.flash_rows_backward = tiles.queries_backward;
  profile.row_packs = tiles.registers / 8;  // in fours, of half of them
  profile.map_packs = tiles.map_packs;
  profile.map_waves = tiles.map_waves;
  profile.map_steps = tiles.map_steps;
}

void fit_workgroup(const VulkanFacts& device, simt::Profile& profile) {
  profile.workgroup_bytes = device.shared_bytes;
  const int64_t wanted = std::min<int64_t>(profile.workgroup_invocations, device.max_workgroup);
  profile.workgroup_invocations = std::max(profile.subgroup, wanted);
  profile.most_invocations = std::min<int64_t>(256, device.max_workgroup);
  profile.product_lanes = profile.subgroup >= 64 ? 16 : 8;
  profile.most_waves = std::max<int64_t>(1, profile.workgroup_invocations / profile.subgroup);
  profile.waves = profile.map_waves = profile.most_waves;
}

}  // namespace

simt::Profile profile_of(const VulkanFacts& device, const simt::KernelForm& form) {
  const DeviceRow& row = row_of(device);
  simt::Profile profile;
  take_features(device, profile);
  // Storage buffers cost drivers that run on a CPU ten times a texel.
  profile.texel_loads = profile.image_updates = profile.texels && row.texel_loads;
  // Of what is only written a storage buffer takes a quarter to all of an image's time, by host.
  profile.image_stores = 1;
  const bool by_device = form.mapping == simt::Mapping::by_device;
  take_tiles(
      tiles_of(row, by_device ? row.tiles.workgroup : form.mapping == simt::Mapping::workgroup),
      profile);
  if (!profile.workgroup) {
    profile.most_waves = std::clamp<int64_t>(device.max_workgroup / device.subgroup, 1, 16);
    profile.waves = std::min(profile.waves, profile.most_waves);
    profile.map_waves = std::min(profile.map_waves, profile.most_waves);
    return profile;
  }
  if (form.matrices == simt::Matrices::by_device) profile.matrix = matrix_of(device);
  if (form.matrices == simt::Matrices::as_loops) use_matrices_as_loops(device, profile);
  fit_workgroup(device, profile);
  return profile;
}

}  // namespace weft::vulkan
