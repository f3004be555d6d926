// Layouts of products: fragments of matrix units, tiles in workgroup memory, registers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/layout_chooser.h"

namespace weft::simt {

using tile::AxisId;
using tile::kNone;

// Results as fragments of matrix units, whose sides lie in workgroup memory.
bool LayoutChooser::lay_out_fragments() {
  const bool wanted = profile_.workgroup && profile_.matrix.m > 0 && profile_.matrices > 1;
  if (!wanted || !can_use_matrices(p_)) return false;
  const MatrixShape& shape = profile_.matrix;
  const int64_t waves = std::max<int64_t>(1, profile_.workgroup_invocations / profile_.subgroup);
  // A wave has so many fragments, rows by columns: each is read from workgroup memory once for all
  // of the other direction.
  constexpr std::pair<int64_t, int64_t> kFragments[] = {{2, 4}, {1, 4}, {1, 2}, {1, 1}};
  for (int64_t steps : {2, 1}) {
    if (!choose_depth(steps * shape.k, shape.k)) break;
    for (const auto& [rows, columns] : kFragments) {
      if (!take_fragments(waves, rows, columns)) continue;
      if (stage_bytes() <= profile_.workgroup_bytes) return true;
    }
  }
  start_again();
  return false;
}

bool LayoutChooser::take_fragments(int64_t waves, int64_t rows, int64_t columns) {
  const MatrixShape& shape = profile_.matrix;
  const int64_t depth = layout_.stage_depth;
  start_again();
  layout_.stage_depth = depth;
  Fragments& fragments = layout_.fragments;
  fragments = {shape, kNone, lane_axis(facts_.produced), profile_.matrices_as_loops};
  for (AxisId axis : facts_.produced) {
    if (axis != fragments.columns) fragments.rows = axis;
  }
  if (profile_.subgroup % shape.m != 0) return false;
  for (AxisId axis : facts_.contracted) of(axis) = {.stepped = true};
  packs_[fragments.rows] = false;
  take(fragments.rows, shape.m, waves, rows);
  const int64_t lanes = profile_.subgroup / shape.m;
  if (shape.n % (lanes * pack_of(fragments.columns)) != 0) packs_[fragments.columns] = false;
  const int64_t across = lanes * pack_of(fragments.columns);  // columns that lanes hold at once
  if (shape.n % across != 0) return false;
  take(fragments.columns, lanes, 1, columns * shape.n / across);
  AxisLayout& taken = of(fragments.columns);
  const int64_t each = shape.n / across;
  const int64_t missing = (each - taken.registers % each) % each;
  // Columns beyond the last one of a small product do not exist.
  if (missing > 0 && !is_free(fragments.columns)) return false;
  taken.registers += missing;
  return of(fragments.rows).lanes == shape.m && taken.lanes == lanes;
}

// How much of the sums a tile in workgroup memory holds: a part of what tiles have whose size is
// given.
bool LayoutChooser::choose_depth(int64_t most, int64_t least) {
  layout_.stage_depth = most;
  for (AxisId axis : facts_.contracted) {
    const std::optional<int64_t> size = p_.size_of(p_.tile_extent(axis));
    while (size && !is_free(axis) && *size % layout_.stage_depth != 0) layout_.stage_depth /= 2;
  }
  return layout_.stage_depth >= least && layout_.stage_depth % least == 0;
}

// Tiles in workgroup memory: as many rows as fit there. False if they are not worth it.
bool LayoutChooser::lay_out_staged() {
  if (!profile_.workgroup || !can_stage(p_)) return false;
  const bool fits = choose_depth(profile_.stage_depth, profile_.unrolled);
  for (int64_t rows = profile_.product_rows; fits && rows >= 1; rows /= 2) {
    if (!take_staged(rows)) break;
    if (stage_bytes() <= profile_.workgroup_bytes) return true;
  }
  start_again();
  return false;
}

bool LayoutChooser::take_staged(int64_t rows) {
  constexpr int64_t kLeast = 16;  // rows and columns of a tile
  for (AxisId axis : facts_.contracted)
    of(axis) = {.registers = profile_.unrolled, .stepped = true};
  std::set<AxisId> outputs = facts_.produced;
  const AxisId columns = lane_axis(outputs);
  if (columns == kNone) return false;
  const int64_t lanes = std::min(profile_.subgroup, profile_.product_lanes);
  take(columns, lanes, 1, profile_.product_packs * 4 / pack_of(columns));
  outputs.erase(columns);
  int64_t left = profile_.subgroup / of(columns).lanes;
  int64_t waves = std::max<int64_t>(1, profile_.workgroup_invocations / profile_.subgroup);
  int64_t all = 1;
  for (AxisId axis : outputs) {
    take(axis, left, waves, std::max<int64_t>(1, rows / pack_of(axis)));
    const AxisLayout& taken = of(axis);
    left /= taken.lanes;
    waves = std::max<int64_t>(1, waves / taken.waves);
    rows = std::max<int64_t>(1, rows / taken.registers / taken.pack);
    all *= taken.span();
  }
  return all >= kLeast && of(columns).span() >= kLeast;
}

int64_t LayoutChooser::stage_bytes() {
  Layout numbered = layout_;
  numbered.lanes = numbered.waves = 1;
  number_digits(numbered);
  // Sums over rows are exchanged there.
  int64_t bytes = facts_.reduced.empty() ? 0 : numbered.invocations() * int64_t{sizeof(float)};
  bytes += bytes_of_tiles(p_, lay_out_stages(p_, numbered, aligned_, layout_.stage_depth));
  // Fragments are taken apart there, one of each wave at a time.
  const MatrixShape& shape = layout_.fragments.shape;
  return bytes + numbered.waves * shape.m * shape.n * int64_t{sizeof(float)};
}

void LayoutChooser::lay_out_product() {
  std::set<AxisId> outputs = facts_.produced;
  for (AxisId axis : facts_.contracted) {
    take(axis, 1, 1, pack_of(axis) == 4 ? 1 : profile_.unrolled);
    // In steps of a longer tile, the last of which may be shorter.
    of(axis).stepped = is_free(axis) && !divisible(p_.axes[axis].dim, of(axis).span());
  }
  const AxisId columns = lane_axis(outputs);
  if (columns == kNone) return;
  take(columns, profile_.subgroup, 1, profile_.product_packs);
  outputs.erase(columns);
  int64_t waves = profile_.waves;
  int64_t rows = profile_.product_rows;
  for (AxisId axis : outputs) {
    const bool chosen = is_free(axis) || !given(axis);
    const int64_t registers = std::max<int64_t>(1, rows / pack_of(axis));
    if (chosen) {
      take(axis, 1, waves, registers);
    } else {
      take_rows(axis, registers);
    }
    waves = 1;
    rows = std::max<int64_t>(1, rows / of(axis).registers / of(axis).pack);
  }
  if (outputs.empty()) take(columns, profile_.subgroup, waves, 1);
}

// Rows whose number is given: registers first, then as many waves as that takes.
void LayoutChooser::take_rows(AxisId axis, int64_t registers) {
  AxisLayout& rows = of(axis);
  rows.pack = pack_of(axis);
  int64_t left = *given(axis) / rows.pack;
  while (registers > 1 && left % registers != 0) --registers;
  rows.registers = registers;
  left /= registers;
  rows.waves = std::min(left, profile_.most_waves);
  while (left % rows.waves != 0) --rows.waves;
  rows.registers *= left / rows.waves;
}

}  // namespace weft::simt
