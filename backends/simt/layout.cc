// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/layout.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "backends/simt/analysis.h"

namespace weft::simt {
namespace {

using tile::AxisId;
using tile::Extent;
using tile::Index;
using tile::Knob;
using tile::kNone;
using tile::Program;
using tile::Ref;

constexpr int64_t kMostRegisters = 64;  // of one axis, in packs
constexpr int64_t kUnrolled = 4;        // coordinates of a sum that are not in packs

int64_t round_up_to_power(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

class Chooser {
 public:
  Chooser(Program& program, const Profile& profile, const std::vector<bool>& aligned)
      : p_(program), profile_(profile), aligned_(aligned), facts_(analyse(program)) {
    layout_.axes.resize(program.axes.size());
    count_unit_axes();
  }

  Result<Layout> run() {
    if (facts_.dots.empty()) {
      lay_out_rows();
    } else if (facts_.chained) {
      lay_out_flash();
    } else if (!lay_out_staged()) {
      lay_out_product();
    }
    WEFT_TRY_STATUS(fit_all());
    number_digits();
    if (staged()) {
      layout_.stages = lay_out_stages(p_, layout_, aligned_, layout_.stage_depth);
    }
    return std::move(layout_);
  }

 private:
  void count_unit_axes() {
    unit_.assign(p_.axes.size(), 0);
    packs_.assign(p_.axes.size(), false);
    for (const Access& access : facts_.accesses) {
      const Ref& ref = *access.ref;
      const AxisId unit = unit_axis(p_, ref);
      if (unit == kNone || p_.is_scalar(unit)) continue;
      unit_[unit] += access.writes ? 2 : 1;
      if (packed_axis(p_, ref, aligned_[ref.buffer]) == unit) packs_[unit] = true;
    }
  }

  AxisLayout& of(AxisId axis) { return layout_.axes[axis]; }
  bool is_tile(AxisId axis) const { return !p_.is_scalar(axis); }
  int64_t pack_of(AxisId axis) const {
    const std::optional<int64_t> size = p_.size_of(p_.tile_extent(axis));
    const bool fits = !size || is_free(axis) || *size % 4 == 0;
    return packs_[axis] && fits ? 4 : 1;
  }

  // Whether the size of a tile may be chosen here.
  bool is_free(AxisId axis) const {
    const Extent& extent = p_.tile_extent(axis);
    if (extent.kind != Extent::knob || facts_.counted.contains(axis)) return false;
    return p_.knobs[extent.knob_index].kind == Knob::free;
  }

  // The coordinates of a tile, if they are known: a free knob may have any.
  std::optional<int64_t> given(AxisId axis) const {
    const Dim& dim = p_.axes[axis].dim;
    const Extent& extent = p_.tile_extent(axis);
    if (extent.kind == Extent::whole || is_free(axis)) {
      if (!dim.is_constant()) return std::nullopt;
      return dim.constant();
    }
    return p_.size_of(extent);
  }

  // The axis of the lanes: where most neighbours in memory are, of those allowed.
  // Rows that are summed up come first: their elements are the most.
  AxisId lane_axis(const std::set<AxisId>& allowed) const {
    auto rank = [&](AxisId axis) {
      const bool single = !is_free(axis) && given(axis) == 1;
      const bool summed = unit_[axis] > 0 && facts_.reduced.contains(axis);
      return std::tuple(!single, summed, unit_[axis]);
    };
    AxisId best = kNone;
    for (AxisId axis : allowed) {
      if (!is_tile(axis)) continue;
      if (best == kNone || rank(axis) >= rank(best)) best = axis;
    }
    return best;
  }

  // Takes of an axis at most what it has: lanes first, then waves, then registers.
  void take(AxisId axis, int64_t lanes, int64_t waves, int64_t registers) {
    AxisLayout& axis_layout = of(axis);
    axis_layout.pack = pack_of(axis);
    std::optional<int64_t> size = given(axis);
    int64_t left = INT64_MAX;
    if (size) left = (*size + axis_layout.pack - 1) / axis_layout.pack;
    const bool fixed = size && !is_free(axis) && p_.tile_extent(axis).kind != Extent::whole;
    auto part = [&](int64_t wanted) {
      if (left == INT64_MAX) return wanted;
      int64_t taken = std::min(wanted, fixed ? left : round_up_to_power(left));
      while (fixed && left % taken != 0) --taken;
      left = (left + taken - 1) / taken;
      return taken;
    };
    if (fixed) {
      while (left % lanes != 0) lanes /= 2;
      left /= lanes;
      axis_layout.lanes = lanes;
    } else {
      axis_layout.lanes = part(lanes);
    }
    axis_layout.waves = part(waves);
    axis_layout.registers =
        left == INT64_MAX || fixed ? part(registers) : std::clamp<int64_t>(left, 1, registers);
  }

  // Tiles in workgroup memory: as many rows as fit there. False if they are not worth it.
  bool lay_out_staged() {
    if (!profile_.workgroup || !can_stage(p_)) return false;
    layout_.stage_depth = profile_.stage_depth;
    for (AxisId axis : facts_.contracted) {
      const std::optional<int64_t> size = p_.size_of(p_.tile_extent(axis));
      while (size && !is_free(axis) && *size % layout_.stage_depth != 0) layout_.stage_depth /= 2;
    }
    bool fits = layout_.stage_depth >= kUnrolled;
    for (int64_t rows = profile_.product_rows; fits && rows >= 1; rows /= 2) {
      if (!take_staged(rows)) break;
      if (stage_bytes() <= profile_.workgroup_bytes) return true;
    }
    layout_ = {};
    layout_.axes.resize(p_.axes.size());
    layout_.stage_depth = 1;
    return false;
  }

  bool staged() const { return layout_.stage_depth > 1; }

  bool take_staged(int64_t rows) {
    constexpr int64_t kLeast = 16;  // rows and columns of a tile
    for (AxisId axis : facts_.contracted) of(axis) = {.registers = kUnrolled, .stepped = true};
    std::set<AxisId> outputs = facts_.produced;
    const AxisId columns = lane_axis(outputs);
    if (columns == kNone) return false;
    const int64_t lanes = std::min<int64_t>(profile_.subgroup, profile_.subgroup >= 64 ? 16 : 8);
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

  int64_t stage_bytes() {
    Layout numbered = layout_;
    number_digits(numbered);
    int64_t bytes = 0;
    for (const Stage& stage : lay_out_stages(p_, numbered, aligned_, layout_.stage_depth)) {
      bytes += stage.elements * int64_t{sizeof(float)} * 2;  // this step's and the next one's
    }
    return bytes;
  }

  void lay_out_product() {
    std::set<AxisId> outputs = facts_.produced;
    for (AxisId axis : facts_.contracted) {
      take(axis, 1, 1, pack_of(axis) == 4 ? 1 : kUnrolled);
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
  void take_rows(AxisId axis, int64_t registers) {
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

  void lay_out_flash() {
    const int64_t rows =
        facts_.dots.size() > 2 ? profile_.flash_rows_backward : profile_.flash_rows;
    for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
      if (!is_tile(axis)) continue;
      if (p_.in_grid(axis)) {
        packs_[axis] = false;
        take(axis, profile_.subgroup, profile_.workgroup ? profile_.waves : 1, rows);
      } else if (p_.tile_extent(axis).kind == Extent::whole) {
        take(axis, 1, 1, kMostRegisters);
      } else {
        packs_[axis] = false;
        take(axis, 1, 1, is_free(axis) ? 2 : kMostRegisters);
      }
    }
  }

  void lay_out_rows() {
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
      take(lanes, profile_.subgroup, profile_.workgroup ? profile_.waves : 1, most_packs(lanes));
    } else {
      take(lanes, profile_.subgroup, all.empty() ? profile_.waves : 1,
           all.empty() ? profile_.map_packs : 1);
    }
    int64_t waves = all.empty() ? 1 : std::max<int64_t>(1, profile_.waves / of(lanes).waves);
    int64_t registers = facts_.reduced.empty() && !all.empty() ? profile_.map_packs : 1;
    for (AxisId axis : all) {
      packs_[axis] = false;
      if (facts_.reduced.contains(axis)) continue;  // in steps
      take(axis, 1, waves, registers);
      waves = std::max<int64_t>(1, waves / of(axis).waves);
      registers = std::max<int64_t>(1, registers / of(axis).registers);
    }
  }

  int64_t most_packs(AxisId axis) const {
    return facts_.carried.contains(axis) ? kMostRegisters : profile_.row_packs;
  }

  // Sets free knobs to what was taken, and finds the axes that need steps.
  Status fit_all() {
    for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
      if (!is_tile(axis)) continue;
      const Extent& extent = p_.tile_extent(axis);
      AxisLayout& taken = of(axis);
      if (facts_.contracted.contains(axis) && taken.stepped) {
        if (is_free(axis)) p_.knobs[extent.knob_index].value = depth_of(axis);
        continue;
      }
      if (is_free(axis)) {
        p_.knobs[extent.knob_index].value = taken.span();
        continue;
      }
      const std::optional<int64_t> size = given(axis);
      taken.stepped = !size || *size > taken.span();
      if (!taken.stepped) continue;
      if (extent.kind != Extent::whole && *size % taken.span() != 0) {
        return error({}, "kernel @", p_.name, ": ", *size, " coordinates of axis ",
                     p_.axes[axis].name, " are no multiple of ", taken.span());
      }
      if (extent.kind == Extent::whole && facts_.reduced.contains(axis)) {
        taken.registers = std::min<int64_t>(taken.registers, 4);
      }
      if (facts_.held(axis)) {
        return error({}, "kernel @", p_.name, ": axis ", p_.axes[axis].name, " of ",
                     p_.axes[axis].dim, " is too long for registers");
      }
    }
    return ok();
  }

  // Of a sum that is walked in steps: what one tile has.
  int64_t depth_of(AxisId axis) {
    constexpr int64_t kDeep = 512;
    const int64_t step = staged() ? layout_.stage_depth : of(axis).span();
    const Dim& size = p_.axes[axis].dim;
    if (!size.is_constant()) return kDeep;
    return std::min(kDeep, (size.constant() + step - 1) / step * step);
  }

  void number_digits() { number_digits(layout_); }
  void number_digits(Layout& layout) const {
    for (AxisLayout& axis : layout.axes) {
      axis.lane_stride = layout.lanes;
      axis.wave_stride = layout.waves;
      layout.lanes *= axis.lanes;
      layout.waves *= axis.waves;
    }
    layout.lanes = std::max(layout.lanes, profile_.subgroup);
  }

  Program& p_;
  const Profile& profile_;
  const std::vector<bool>& aligned_;
  const Facts facts_;
  Layout layout_;
  std::vector<int> unit_;    // references whose neighbours along the axis are neighbours in memory
  std::vector<bool> packs_;  // and of those that begin at multiples of four
};

}  // namespace

Result<Layout> choose_layout(Program& program, const Profile& profile,
                             const std::vector<bool>& aligned) {
  const Program given = program;
  Result<Layout> chosen = Chooser(program, profile, aligned).run();
  if (chosen.ok() || !profile.workgroup) return chosen;
  // What the workgroup form has no room for takes the other one.
  program = given;
  Profile in_registers = profile;
  in_registers.workgroup = false;
  return Chooser(program, in_registers, aligned).run();
}

std::vector<std::string> describe(const Program& program, const Layout& layout) {
  std::vector<std::string> lines;
  for (AxisId axis = 0; axis < program.axes.size(); ++axis) {
    if (program.is_scalar(axis)) continue;
    const AxisLayout& l = layout.axes[axis];
    std::string digits;
    auto add = [&](const char* place, int64_t size) {
      if (size > 1)
        digits += (digits.empty() ? "" : ", ") + std::string(place) + " " + std::to_string(size);
    };
    add("pack", l.pack);
    add("lane", l.lanes);
    add("wave", l.waves);
    add("reg", l.registers);
    if (l.stepped) digits += std::string(digits.empty() ? "" : ", ") + "steps";
    lines.push_back(program.axes[axis].name + " = [" + digits + "]");
  }
  return lines;
}

}  // namespace weft::simt
