// SPDX-License-Identifier: Apache-2.0
#include "driver/knobs.h"

#include <algorithm>
#include <limits>
#include <set>

#include "backends/simt/knobs.h"

namespace weft {
namespace {

using tile::AxisId;
using tile::Extent;
using tile::Index;

// Axes along which something is added up or counted: by the tile of an axis, or by its place.
std::set<AxisId> counted_axes(const tile::Program& program) {
  std::set<AxisId> counted;
  auto look = [&](const Index& index) {
    tile::for_each_term(index, [&](const Index::Term& term) {
      const bool by_tile = term.kind == Index::Term::program || term.kind == Index::Term::base ||
                           term.kind == Index::Term::end;
      if (by_tile) counted.insert(term.axis_id);
    });
  };
  for (const tile::Value& value : program.values) {
    counted.insert(value.axes_reduced.begin(), value.axes_reduced.end());
    tile::for_each_index(value, look);
  }
  std::function<void(const tile::Block&)> walk = [&](const tile::Block& block) {
    for (const tile::Stmt& stmt : block) {
      tile::for_each_index(stmt, look);
      if (!stmt.carried.empty()) counted.insert(stmt.axis);
      walk(stmt.body);
    }
  };
  walk(program.body);
  return counted;
}

bool is_sized_by(const tile::Axis& axis, size_t knob) {
  auto is = [&](const Extent& extent) {
    return extent.kind == Extent::knob && extent.knob_index == knob;
  };
  return is(axis.extent) || (axis.inner && is(*axis.inner));
}

// Of a program for a SIMT device: lowering gives order knobs no choices.
bool is_order_choice(const tile::Knob& knob) {
  return knob.kind == tile::Knob::order && !knob.choices.empty();
}

}  // namespace

bool changes_order(const tile::Program& program, const KnobValues& values) {
  const std::vector<size_t> knobs = choosable_knobs(program);
  for (size_t i = 0; i < knobs.size() && i < values.size(); ++i) {
    const tile::Knob& knob = program.knobs[knobs[i]];
    if (is_order_choice(knob) && knob.value != values[i]) return true;
  }
  return false;
}

std::vector<size_t> choosable_knobs(const tile::Program& program) {
  const std::set<AxisId> counted = counted_axes(program);
  std::vector<size_t> chosen;
  std::vector<size_t> of_device;
  for (size_t knob = 0; knob < program.knobs.size(); ++knob) {
    bool choosable = program.knobs[knob].kind == tile::Knob::free;
    for (AxisId axis = 0; axis < program.axes.size(); ++axis) {
      if (is_sized_by(program.axes[axis], knob)) choosable = choosable && !counted.contains(axis);
    }
    if (choosable) chosen.push_back(knob);
    if (simt::is_device_knob(program.knobs[knob]) || is_order_choice(program.knobs[knob])) {
      of_device.push_back(knob);
    }
  }
  return of_device.empty() ? chosen : of_device;
}

std::vector<int64_t> knob_choices(const tile::Program& program, size_t knob) {
  const int64_t value = program.knobs[knob].value;
  if (simt::is_device_knob(program.knobs[knob]) || is_order_choice(program.knobs[knob])) {
    std::set<int64_t> all(program.knobs[knob].choices.begin(), program.knobs[knob].choices.end());
    all.insert(value);
    return {all.begin(), all.end()};
  }
  std::set<int64_t> choices(program.knobs[knob].choices.begin(), program.knobs[knob].choices.end());
  if (choices.empty()) choices = {value / 4, value / 2, value * 2, value * 4};
  if (value == 1) choices.insert(8);
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const tile::Axis& axis : program.axes) {
    if (is_sized_by(axis, knob) && axis.dim.is_constant())
      most = std::min(most, axis.dim.constant());
  }
  // A tile of one coordinate is another kind of kernel: not to be fallen into by halving.
  const int64_t least = std::min<int64_t>(value, 2);
  std::set<int64_t> allowed = {value};
  for (int64_t choice : choices) {
    choice = std::min(choice, most);
    if (choice >= least) allowed.insert(choice);
  }
  return {allowed.begin(), allowed.end()};
}

KnobValues knob_values(const tile::Program& program) {
  KnobValues values;
  for (size_t knob : choosable_knobs(program)) values.push_back(program.knobs[knob].value);
  return values;
}

bool set_knobs(tile::Program& program, const KnobValues& values) {
  const std::vector<size_t> knobs = choosable_knobs(program);
  if (values.size() != knobs.size()) return false;
  tile::Program changed = program;
  for (size_t i = 0; i < knobs.size(); ++i) {
    if (!std::ranges::binary_search(knob_choices(program, knobs[i]), values[i])) return false;
    changed.knobs[knobs[i]].value = values[i];
  }
  if (!tile::verify(changed).ok()) return false;
  program = std::move(changed);
  return true;
}

size_t choose_knobs(std::vector<tile::Program>& programs, const KnobChooser& chooser) {
  if (!chooser) return 0;
  size_t changed = 0;
  for (tile::Program& program : programs) {
    const std::optional<KnobValues> values = chooser(program);
    if (!values || *values == knob_values(program)) continue;
    if (set_knobs(program, *values)) ++changed;
  }
  return changed;
}

}  // namespace weft
