// Tiles of the sides of products in workgroup memory: who fills them, and where elements lie.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "backends/simt/analysis.h"
#include "backends/simt/layout.h"

namespace weft::simt {
namespace {

using tile::AxisId;
using tile::kNone;
using tile::Program;
using tile::Value;
using tile::ValueId;

// Whether a value is computed from memory and coordinates alone.
bool is_local(const Program& program, const Facts& facts, ValueId id) {
  const Value& value = program.values[id];
  switch (value.kind) {
    case Value::load:
      if (facts.written.contains(value.ref.buffer)) return false;
      break;
    case Value::constant:
    case Value::coord:
    case Value::map:
    case Value::random: break;
    default: return false;
  }
  bool result = true;
  tile::for_each_use(value, [&](ValueId use) { result = result && is_local(program, facts, use); });
  return result;
}

// The axis along which the first load of a value that has one finds its neighbours; `four`: in
// fours.
AxisId neighbours_of(const Program& program, const std::vector<bool>& aligned, ValueId id,
                     const std::vector<AxisId>& axes, bool& four) {
  const Value& value = program.values[id];
  AxisId found = kNone;
  if (value.kind == Value::load) {
    const AxisId unit = unit_axis(program, value.ref);
    if (std::ranges::count(axes, unit) > 0) {
      found = unit;
      four = byte_size(value.dtype) == 4 && value.where == kNone &&
             packed_axis(program, value.ref, aligned[value.ref.buffer]) == unit;
    }
  }
  tile::for_each_use(value, [&](ValueId use) {
    if (found == kNone) found = neighbours_of(program, aligned, use, axes, four);
  });
  return found;
}

int64_t power_in(int64_t n) { return n & -n; }

}  // namespace

bool can_stage(const Program& program) {
  const Facts facts = analyse(program);
  if (facts.dots.empty() || facts.chained) return false;
  return std::ranges::all_of(facts.dots, [&](ValueId dot) {
    const Value& value = program.values[dot];
    const AxisId along = value.axes_reduced[0];
    auto fits = [&](ValueId side) {
      const std::vector<AxisId>& axes = program.values[side].axes;
      return is_float(program.values[side].dtype) && axes.size() > 1 &&
             std::ranges::count(axes, along) == 1 && is_local(program, facts, side);
    };
    return fits(value.operands[0]) && fits(value.operands[1]);
  });
}

std::vector<Stage> lay_out_stages(const Program& program, const Layout& layout,
                                  const std::vector<bool>& aligned, int64_t depth) {
  std::vector<Stage> stages;
  auto add = [&](ValueId operand, AxisId along) {
    if (std::ranges::count(stages, operand, &Stage::operand) > 0) return;
    Stage stage;
    stage.operand = operand;
    stage.along = along;
    stage.rows = program.values[operand].axes;
    std::erase(stage.rows, along);
    auto fours = [&](AxisId axis) {
      const AxisLayout& own = layout.axes[axis];
      return own.pack == 4 || own.registers % 4 == 0;
    };
    std::ranges::stable_partition(stage.rows, fours);
    stage.fours = fours(stage.rows[0]);
    int64_t width = 1;
    for (AxisId axis : stage.rows) width *= layout.axes[axis].span();
    // A few more, so that columns of a tile do not all lie in one bank.
    stage.stride = (width + 3) / 4 * 4 + 4;
    stage.elements = stage.stride * depth;
    stage.filling = layout.axes;
    std::vector<AxisId> order = program.values[operand].axes;
    bool four = false;
    const AxisId first = neighbours_of(program, aligned, operand, order, four);
    if (first != kNone) std::swap(*std::ranges::find(order, first), order.front());
    for (AxisId axis : order) {
      const int64_t extent = axis == along ? depth : layout.axes[axis].span();
      AxisLayout& filling = stage.filling[axis];
      filling = {.lane_stride = stage.fillers, .stepped = layout.axes[axis].stepped};
      if (axis == first && four && extent % 4 == 0) filling.pack = 4;
      const int64_t left = extent / filling.pack;
      filling.lanes = std::min(power_in(left), power_in(layout.invocations()) / stage.fillers);
      filling.registers = left / filling.lanes;
      stage.fillers *= filling.lanes;
    }
    stages.push_back(std::move(stage));
  };
  for (ValueId dot : analyse(program).dots) {
    const Value& value = program.values[dot];
    for (ValueId side : {value.operands[0], value.operands[1]}) add(side, value.axes_reduced[0]);
  }
  return stages;
}

}  // namespace weft::simt
