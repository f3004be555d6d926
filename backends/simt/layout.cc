// SPDX-License-Identifier: Apache-2.0
#include "backends/simt/layout.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "backends/simt/layout_chooser.h"

namespace weft::simt {

using tile::AxisId;
using tile::Extent;
using tile::Knob;
using tile::kNone;
using tile::Program;
using tile::Ref;

namespace {

int64_t round_up_to_power(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

}  // namespace

LayoutChooser::LayoutChooser(Program& program, const Profile& profile,
                             const std::vector<bool>& aligned)
    : p_(program), profile_(profile), aligned_(aligned), facts_(analyse(program)) {
  start_again();
}

void LayoutChooser::start_again() {
  layout_ = {};
  layout_.axes.resize(p_.axes.size());
  count_unit_axes();
}

Result<Layout> LayoutChooser::run() {
  if (facts_.dots.empty()) {
    lay_out_rows();
  } else if (facts_.chained) {
    lay_out_flash();
  } else if (!lay_out_fragments() && !lay_out_staged()) {
    lay_out_product();
  }
  WEFT_TRY_STATUS(fit_all());
  number_digits(layout_);
  if (staged()) {
    // Sums over rows may have taken more registers of an axis since it was chosen.
    if (stage_bytes() > profile_.workgroup_bytes) {
      return error({}, "kernel @", p_.name, ": its tiles need ", stage_bytes(),
                   " bytes of workgroup memory, the device has ", profile_.workgroup_bytes);
    }
    layout_.stages = lay_out_stages(p_, layout_, aligned_, layout_.stage_depth);
  }
  if (facts_.chained && profile_.workgroup && profile_.shared_loops > 1) share_loops();
  return std::move(layout_);
}

// As many of them as there is room for.
void LayoutChooser::share_loops() {
  int64_t left = profile_.workgroup_bytes - layout_.invocations() * int64_t{sizeof(float)};
  for (Stage& stage : lay_out_loop_stages(p_, layout_, aligned_)) {
    if (stage.bytes() > left) continue;
    left -= stage.bytes();
    layout_.shared.push_back(std::move(stage));
  }
}

void LayoutChooser::count_unit_axes() {
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

int64_t LayoutChooser::pack_of(AxisId axis) const {
  const std::optional<int64_t> size = p_.size_of(p_.tile_extent(axis));
  const bool fits = !size || is_free(axis) || *size % 4 == 0;
  return packs_[axis] && fits ? 4 : 1;
}

// Whether the size of a tile may be chosen here.
bool LayoutChooser::is_free(AxisId axis) const {
  const Extent& extent = p_.tile_extent(axis);
  if (extent.kind != Extent::knob || facts_.counted.contains(axis)) return false;
  return p_.knobs[extent.knob_index].kind == Knob::free;
}

// The coordinates of a tile, if they are known: a free knob may have any.
std::optional<int64_t> LayoutChooser::given(AxisId axis) const {
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
AxisId LayoutChooser::lane_axis(const std::set<AxisId>& allowed) const {
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
void LayoutChooser::take(AxisId axis, int64_t lanes, int64_t waves, int64_t registers) {
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

// Sets free knobs to what was taken, and finds the axes that need steps.
Status LayoutChooser::fit_all() {
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    if (!is_tile(axis)) continue;
    const Extent& extent = p_.tile_extent(axis);
    AxisLayout& taken = of(axis);
    if (facts_.contracted.contains(axis) && taken.stepped) {
      if (is_free(axis)) p_.knobs[extent.knob_index].value = depth_of(axis);
      continue;
    }
    if (is_free(axis)) {
      p_.knobs[extent.knob_index].value = taken.span() * taken.steps;
      taken.stepped = taken.steps > 1;
      continue;
    }
    const std::optional<int64_t> size = given(axis);
    if (size && facts_.held(axis)) hold_all(taken, *size);
    taken.stepped = !size || *size > taken.span() || *size == 0;  // no step at all
    if (!taken.stepped) continue;
    if (extent.kind != Extent::whole && *size % taken.span() != 0) {
      return error({}, "kernel @", p_.name, ": ", *size, " coordinates of axis ",
                   p_.axes[axis].name, " are no multiple of ", taken.span());
    }
    if (extent.kind == Extent::whole && facts_.reduced.contains(axis)) {
      taken.registers = std::min<int64_t>(taken.registers, facts_.held(axis) ? 16 : 4);
    }
    // A sum over rows that a loop carries, of a program that reads nothing that it writes.
    const bool again = extent.kind == Extent::whole && facts_.dots.empty() && !reads_written();
    if (facts_.held(axis) && again) {
      taken.walked_again = true;
    } else if (facts_.held(axis)) {
      return error({}, "kernel @", p_.name, ": axis ", p_.axes[axis].name, " of ",
                   p_.axes[axis].dim, " is too long for registers");
    }
  }
  return ok();
}

// More registers, where there are enough of them.
void LayoutChooser::hold_all(AxisLayout& axis, int64_t size) const {
  const int64_t each = axis.span() / axis.registers;
  const int64_t needed = (size + each - 1) / each;
  if (needed * axis.pack <= kMostRegisters * 4) axis.registers = std::max(axis.registers, needed);
}

bool LayoutChooser::reads_written() const {
  return std::ranges::any_of(facts_.accesses, [&](const Access& access) {
    return !access.writes && facts_.written.contains(access.ref->buffer);
  });
}

// Of a sum that is walked in steps: what one tile has.
int64_t LayoutChooser::depth_of(AxisId axis) {
  // Fragments are taken apart after each tile.
  const int64_t deep = layout_.fragments ? 4096 : 512;
  const int64_t step = staged() ? layout_.stage_depth : of(axis).span();
  const Dim& size = p_.axes[axis].dim;
  if (!size.is_constant()) return deep;
  return std::min(deep, (size.constant() + step - 1) / step * step);
}

void LayoutChooser::number_digits(Layout& layout) const {
  for (AxisLayout& axis : layout.axes) {
    axis.lane_stride = layout.lanes;
    axis.wave_stride = layout.waves;
    layout.lanes *= axis.lanes;
    layout.waves *= axis.waves;
  }
  layout.lanes = std::max(layout.lanes, profile_.subgroup);
}

Result<Layout> choose_layout(Program& program, const Profile& profile,
                             const std::vector<bool>& aligned) {
  const Program given = program;
  Result<Layout> chosen = LayoutChooser(program, profile, aligned).run();
  if (chosen.ok() || !profile.workgroup) return chosen;
  // What the workgroup form has no room for takes the other one.
  program = given;
  Profile in_registers = profile;
  in_registers.workgroup = false;
  WEFT_TRY(Layout other, LayoutChooser(program, in_registers, aligned).run());
  other.in_registers = chosen.diagnostics()[0].message;
  return other;
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
    const bool fragment = axis == layout.fragments.rows || axis == layout.fragments.columns;
    if (fragment) {
      const MatrixShape& shape = layout.fragments.shape;
      add("fragment", axis == layout.fragments.rows ? shape.m : shape.n);
    }
    if (l.walked_again) digits += std::string(digits.empty() ? "" : ", ") + "again";
    if (l.stepped) digits += std::string(digits.empty() ? "" : ", ") + "steps";
    lines.push_back(program.axes[axis].name + " = [" + digits + "]");
  }
  return lines;
}

}  // namespace weft::simt
