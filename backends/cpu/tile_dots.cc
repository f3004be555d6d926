// Which dots are products of tiles in scratch, and which axis has the lanes of which tile.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Block;
using tile::Stmt;
using tile::Value;

namespace {

// What it takes to read an operand in vectors along an axis.
constexpr int kInPlace = 0;
constexpr int kComputed = 1;  // a tile whose lanes go along that axis anyway
constexpr int kOnce = 2;      // a copy before the loop
constexpr int kAlways = 3;    // a copy in every iteration
constexpr int kNever = 4;

}  // namespace

// Looks at a program before it is emitted. A loop that only adds one dot is a product of matrices
// (emit_dot.cc); all other dots of f32 are found here.
class KernelEmitter::TileDotFinder {
 public:
  explicit TileDotFinder(KernelEmitter& emitter)
      : emitter_(emitter),
        program_(emitter.program_),
        depth_(program_.values.size(), kUnknown),
        uses_(program_.values.size(), 0),
        has_dot_(program_.values.size()),
        reads_tile_(program_.values.size()) {
    look_below();
    emitter.users_.resize(program_.values.size());
    for (ValueId user = 0; user < program_.values.size(); ++user) {
      tile::for_each_use(program_.values[user], [&](ValueId id) {
        ++uses_[id];
        emitter.users_[id].push_back(user);
      });
    }
    count_uses(program_.body);
  }

  void run() { walk(program_.body, 0); }

 private:
  static constexpr size_t kUnknown = SIZE_MAX;

  void count_uses(const Block& block) {
    for (const Stmt& stmt : block) {
      auto count = [&](ValueId id) {
        ++uses_[id];
        emitter_.users_[id].push_back(tile::kNone);
      };
      if (stmt.kind != Stmt::let) tile::for_each_use(stmt, count);
      for (ValueId id : stmt.yields) count(id);
      count_uses(stmt.body);
    }
  }

  bool single(AxisId axis) const {
    const std::optional<int64_t> extent = program_.size_of(program_.tile_extent(axis));
    return extent ? *extent == 1 : program_.axes[axis].dim.is_constant(1);
  }
  std::vector<AxisId> moving(std::vector<AxisId> axes) const {
    std::erase_if(axes, [&](AxisId axis) { return single(axis); });
    return axes;
  }

  // Values have larger numbers than what they are made of.
  void look_below() {
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      has_dot_[id] = value.kind == Value::dot;
      reads_tile_[id] = value.kind == Value::load && moving(value.axes).size() > 1;
      for (ValueId operand : value.operands) {
        has_dot_[id] = has_dot_[id] || has_dot_[operand];
        reads_tile_[id] = reads_tile_[id] || (value.kind == Value::map && reads_tile_[operand]);
      }
    }
  }

  bool is_matrix_product(const Stmt& loop) const {
    if (loop.carried.size() != 1 || loop.from || loop.to) return false;
    const Value& dot = program_.values[loop.yields[0]];
    if (dot.kind != Value::dot || dot.operands.size() != 3) return false;
    const bool lets =
        std::ranges::all_of(loop.body, [](const Stmt& stmt) { return stmt.kind == Stmt::let; });
    return lets && dot.operands[2] == loop.carried[0] && !has_dot_[dot.operands[0]] &&
           !has_dot_[dot.operands[1]];
  }

  void walk(const Block& block, size_t depth) {
    for (const Stmt& stmt : block) {
      tile::for_each_use(stmt, [&](ValueId id) { visit(id, depth); });
      if (stmt.kind == Stmt::let) visit(stmt.value, depth);
      if (stmt.kind != Stmt::loop && stmt.kind != Stmt::when) continue;
      if (stmt.kind == Stmt::loop && is_matrix_product(stmt)) continue;
      for (ValueId id : stmt.carried) depth_[id] = depth + 1;
      walk(stmt.body, depth + 1);
      for (ValueId id : stmt.yields) visit(id, depth + 1);
      keep_sums_in_place(stmt);
      for (ValueId id : stmt.results) depth_[id] = depth;
    }
  }

  void visit(ValueId id, size_t depth) {
    if (depth_[id] != kUnknown) return;
    depth_[id] = depth;
    const Value& value = program_.values[id];
    tile::for_each_use(value, [&](ValueId used) { visit(used, depth); });
    if (value.kind == Value::dot && value.dtype == DType::f32) plan(id);
    // Masks and biases lie across the lanes: they are read once, not by every nest.
    const bool shared = value.kind == Value::map && uses_[id] > 1;
    if (shared && has_dot_[id] && reads_tile_[id] && value.dtype == DType::f32) {
      emitter_.kept_.insert(id);
    }
  }

  int cost(ValueId dot, ValueId id, AxisId axis) const {
    if (axis == tile::kNone) return kNever;
    if (emitter_.reads_in_place(id) && emitter_.step_along(id, axis).is_constant(1)) {
      return kInPlace;
    }
    auto known = emitter_.tile_lanes_.find(moving(program_.values[id].axes));
    if (has_dot_[id] && known != emitter_.tile_lanes_.end() && known->second == axis) {
      return kComputed;
    }
    return depth_[id] < depth_[dot] ? kOnce : kAlways;
  }

  // Rows far apart, as those of one head among many are, crowd into few places of a cache. What is
  // read again for every few rows of the other operand is better copied.
  bool lies_apart(ValueId id, AxisId n, AxisId k) const {
    const Dim step = emitter_.step_along(id, k);
    const Dim& width = program_.axes[n].dim;
    if (!step.is_constant() || !width.is_constant()) return !(step == width);
    return step.constant() > std::max<int64_t>(2 * width.constant(), 0);
  }

  void plan(ValueId id) {
    const Value& value = program_.values[id];
    const AxisId k = value.axes_reduced[0];
    AxisId free[2] = {tile::kNone, tile::kNone};
    for (size_t side : {0, 1}) {
      std::vector<AxisId> axes = moving(program_.values[value.operands[side]].axes);
      std::erase(axes, k);
      if (axes.size() > 1) return;
      if (!axes.empty()) free[side] = axes[0];
    }
    const std::vector<AxisId> result = moving(value.axes);
    if (result.empty()) return;
    int costs[2] = {cost(id, value.operands[0], free[0]), cost(id, value.operands[1], free[1])};
    // A row of numbers against rows: both are read along k, which needs no copy.
    if (result.size() == 1 && std::min(costs[0], costs[1]) == kAlways && !single(k)) return;
    size_t lanes = costs[0] < costs[1] ? 0 : 1;
    auto known = emitter_.tile_lanes_.find(result);
    if (known != emitter_.tile_lanes_.end()) lanes = known->second == free[0] ? 0 : 1;
    emitter_.tile_lanes_[result] = free[lanes];
    const ValueId vectors = value.operands[lanes];
    const bool apart = costs[lanes] == kInPlace && free[1 - lanes] != tile::kNone && !single(k) &&
                       lies_apart(vectors, free[lanes], k);
    emitter_.tile_dots_[id] = {.vectors = vectors,
                               .elements = value.operands[1 - lanes],
                               .m = free[1 - lanes],
                               .n = free[lanes],
                               .k = k,
                               .copies = apart || costs[lanes] >= kOnce};
    const bool once = depth_[vectors] < depth_[id];
    if (costs[lanes] == kOnce || (apart && once)) emitter_.packed_once_[vectors] = {k, free[lanes]};
  }

  // The only way from a carried value leads through elementwise work to the sum that is yielded.
  bool feeds_only(ValueId carried, ValueId id) const {
    if (id == carried) return uses_[id] == 1;
    const Value& value = program_.values[id];
    if (value.kind != Value::map || uses_[id] != 1) return false;
    return std::ranges::any_of(value.operands,
                               [&](ValueId operand) { return feeds_only(carried, operand); });
  }

  void keep_sums_in_place(const Stmt& loop) {
    for (size_t i = 0; i < loop.yields.size(); ++i) {
      auto found = emitter_.tile_dots_.find(loop.yields[i]);
      if (found == emitter_.tile_dots_.end()) continue;
      const Value& dot = program_.values[loop.yields[i]];
      const bool sums = dot.operands.size() == 3 && feeds_only(loop.carried[i], dot.operands[2]);
      if (sums && uses_[loop.yields[i]] == 1) found->second.carried = loop.carried[i];
    }
  }

  KernelEmitter& emitter_;
  const tile::Program& program_;
  std::vector<size_t> depth_;  // of the loop that a value is defined in
  std::vector<int> uses_;
  std::vector<bool> has_dot_;     // is computed from a dot of the same iteration
  std::vector<bool> reads_tile_;  // elementwise from something in memory of two axes
};

void KernelEmitter::find_tile_dots() { TileDotFinder(*this).run(); }

// True if the numbers can be read where they lie: an address and a step for each axis.
bool KernelEmitter::reads_in_place(ValueId id) const {
  const Value& value = program_.values[id];
  if (value.kind != Value::load || value.where != tile::kNone || options_.bounds_checks) {
    return false;
  }
  if (value.dtype != DType::f32 || program_.buffers[value.ref.buffer].mode != tile::Buffer::in) {
    return false;
  }
  for (const tile::Index& at : value.ref.at) {
    bool gathers = false;
    tile::for_each_term(
        at, [&](const tile::Index::Term& term) { gathers |= term.value_id != tile::kNone; });
    if (gathers) return false;
    for (AxisId axis : value.axes) {
      if (!tile::coefficient(at, axis)) return false;
    }
  }
  return true;
}

}  // namespace weft::cpu
