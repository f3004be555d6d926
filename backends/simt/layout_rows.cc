// Layouts of attention, of rows that are summed up, and of elementwise work.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/layout_chooser.h"

namespace weft::simt {

using tile::AxisId;
using tile::Extent;
using tile::kNone;

void LayoutChooser::lay_out_flash() {
  const int64_t rows = facts_.dots.size() > 2 ? profile_.flash_rows_backward : profile_.flash_rows;
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    if (!is_tile(axis)) continue;
    if (p_.in_grid(axis)) {
      packs_[axis] = false;
      take(axis, profile_.subgroup, profile_.workgroup ? profile_.waves : 1, rows);
    } else if (p_.tile_extent(axis).kind == Extent::whole) {
      take(axis, 1, 1, kMostRegisters * 4 / pack_of(axis));
    } else {
      packs_[axis] = false;
      take(axis, 1, 1, is_free(axis) ? 2 : kMostRegisters);
    }
  }
}

void LayoutChooser::lay_out_rows() {
  std::set<AxisId> all;
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    if (is_tile(axis) && !facts_.ordered.contains(axis)) all.insert(axis);
  }
  for (AxisId axis : facts_.ordered) packs_[axis] = false;
  const AxisId lanes = lane_axis(all);
  if (lanes == kNone) return;
  all.erase(lanes);
  const bool row = facts_.reduced.contains(lanes);
  if (row) {
    // A workgroup for a row, if it is long enough; else a subgroup.
    take(lanes, profile_.subgroup, waves_of_row(lanes), most_packs(lanes));
  } else {
    take(lanes, profile_.subgroup, all.empty() ? profile_.map_waves : 1,
         all.empty() ? profile_.map_packs : 1);
  }
  const bool map = facts_.reduced.empty();
  int64_t waves = map ? profile_.map_waves : profile_.waves;
  waves = all.empty() ? 1 : std::max<int64_t>(1, waves / of(lanes).waves);
  int64_t registers = map && !all.empty() ? profile_.map_packs : 1;
  for (AxisId axis : all) {
    packs_[axis] = false;
    if (facts_.reduced.contains(axis)) continue;  // in steps
    take(axis, 1, waves, registers);
    waves = std::max<int64_t>(1, waves / of(axis).waves);
    registers = std::max<int64_t>(1, registers / of(axis).registers);
  }
  if (!map) return;
  int64_t steps = walk(lanes, profile_.map_steps);
  for (AxisId axis : all) steps = walk(axis, steps);
}

// Steps of a tile whose size is chosen here, as many as it has; returns those that are left.
int64_t LayoutChooser::walk(AxisId axis, int64_t steps) {
  if (!is_free(axis)) return steps;
  const std::optional<int64_t> size = given(axis);
  const int64_t span = of(axis).span();
  of(axis).steps = size ? std::clamp<int64_t>((*size + span - 1) / span, 1, steps) : steps;
  return steps / of(axis).steps;
}

// As many more as a row takes that has to be in registers all at once.
int64_t LayoutChooser::waves_of_row(AxisId axis) const {
  const int64_t usual = profile_.workgroup ? profile_.waves : 1;
  const std::optional<int64_t> size = given(axis);
  if (!size || !facts_.held(axis)) return usual;
  int64_t waves = usual;
  while (waves * 2 <= profile_.most_waves &&
         waves * profile_.subgroup * pack_of(axis) * kMostRegisters < *size) {
    waves *= 2;
  }
  return waves;
}

int64_t LayoutChooser::most_packs(AxisId axis) const {
  return facts_.carried.contains(axis) ? kMostRegisters : profile_.row_packs;
}

}  // namespace weft::simt
