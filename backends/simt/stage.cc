// Tiles of the sides of products in workgroup memory: who fills them, and where elements lie.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "backends/simt/analysis.h"
#include "backends/simt/layout.h"
#include "ir/types/dtype.h"

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

namespace {

// Whether every number of a value is one of f16: others are computed in f32 and not rounded.
bool is_rounded(const Program& program, ValueId id) {
  const Value& value = program.values[id];
  if (value.dtype != DType::f16) return false;
  switch (value.kind) {
    case Value::load: return true;
    case Value::constant: return round_to(DType::f16, value.number) == value.number;
    case Value::map: break;
    default: return false;
  }
  switch (value.op) {
    case Op::cast: return true;
    case Op::select:
      return is_rounded(program, value.operands[1]) && is_rounded(program, value.operands[2]);
    case Op::abs:
    case Op::neg:
    case Op::minimum:
    case Op::maximum:
      return std::ranges::all_of(value.operands,
                                 [&](ValueId operand) { return is_rounded(program, operand); });
    default: return false;
  }
}

}  // namespace

bool can_use_matrices(const Program& program) {
  const Facts facts = analyse(program);
  if (facts.produced.size() != 2 || !can_stage(program)) return false;
  return std::ranges::all_of(facts.dots, [&](ValueId dot) {
    const Value& value = program.values[dot];
    auto fits = [&](ValueId side) {
      return program.values[side].axes.size() == 2 && is_rounded(program, side);
    };
    return value.axes.size() == 2 && fits(value.operands[0]) && fits(value.operands[1]);
  });
}

namespace {

Stage stage_for(const Program& program, const Layout& layout, const std::vector<bool>& aligned,
                ValueId operand, AxisId along, int64_t depth) {
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
  stage.half = static_cast<bool>(layout.fragments);
  stage.fours = !stage.half && fours(stage.rows[0]);
  int64_t width = 1;
  for (AxisId axis : stage.rows) width *= layout.axes[axis].span();
  // A few more, so that columns of a tile do not all lie in one bank. Fragments begin at
  // multiples of 16 bytes.
  const int64_t some = stage.half ? 8 : 4;
  stage.stride = (width + some - 1) / some * some + some;
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
  return stage;
}

}  // namespace

std::vector<Stage> lay_out_stages(const Program& program, const Layout& layout,
                                  const std::vector<bool>& aligned, int64_t depth) {
  std::vector<Stage> stages;
  for (ValueId dot : analyse(program).dots) {
    const Value& value = program.values[dot];
    for (ValueId side : {value.operands[0], value.operands[1]}) {
      if (std::ranges::count(stages, side, &Stage::operand) > 0) continue;
      stages.push_back(stage_for(program, layout, aligned, side, value.axes_reduced[0], depth));
    }
  }
  return stages;
}

std::string tile_array(const Stage& stage, size_t side) {
  const std::string name = side == 0 ? "tile_left" : "tile_right";
  return stage.half || stage.fours ? name : name + "_single";
}

int64_t bytes_of_tiles(const Program& program, const std::vector<Stage>& stages) {
  std::map<std::string, int64_t> arrays;
  for (ValueId dot : analyse(program).dots) {
    for (size_t side : {0, 1}) {
      const ValueId operand = program.values[dot].operands[side];
      const Stage& stage = *std::ranges::find(stages, operand, &Stage::operand);
      int64_t& bytes = arrays[tile_array(stage, side)];
      bytes = std::max(bytes, stage.bytes());
    }
  }
  int64_t all = 0;
  for (const auto& [name, bytes] : arrays) all += bytes;
  return all;
}

std::vector<Stage> lay_out_loop_stages(const Program& program, const Layout& layout,
                                       const std::vector<bool>& aligned) {
  std::vector<Stage> stages;
  const Facts facts = analyse(program);
  std::vector<AxisId> looped;
  for_each_statement(program.body, [&](const tile::Stmt& stmt) {
    if (stmt.kind == tile::Stmt::loop && !program.is_scalar(stmt.axis)) looped.push_back(stmt.axis);
  });
  auto alike = [&](AxisId axis) {  // in all invocations
    const AxisLayout& own = layout.axes[axis];
    return own.lanes * own.waves == 1 && !own.stepped;
  };
  for (ValueId dot : facts.dots) {
    for (int side = 0; side < 2; ++side) {
      const ValueId id = program.values[dot].operands[static_cast<size_t>(side)];
      const std::vector<AxisId>& axes = program.values[id].axes;
      const auto along = std::ranges::find_first_of(axes, looped);
      if (along == axes.end() || axes.size() < 2 || !std::ranges::all_of(axes, alike)) continue;
      if (!is_float(program.values[id].dtype) || !is_local(program, facts, id)) continue;
      if (std::ranges::count(stages, id, &Stage::operand) > 0) continue;
      stages.push_back(stage_for(program, layout, aligned, id, *along, layout.axes[*along].span()));
    }
  }
  return stages;
}

}  // namespace weft::simt
