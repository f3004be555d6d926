// Loops that carry values from tile to tile.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"

namespace weft::cpu {

using tile::Stmt;
using tile::Value;

// New carried values go where the old ones are, unless a later nest still reads those.
std::vector<Sink> KernelEmitter::yield_sinks(const Stmt& stmt, const std::vector<Slot>& carried,
                                             std::vector<std::pair<Slot, ValueId>>& copies) {
  std::vector<Sink> sinks;
  for (size_t i = 0; i < stmt.yields.size(); ++i) {
    bool overwrites = false;
    for (size_t j = 0; j < stmt.yields.size(); ++j) {
      bool later = carried[j].axes != carried[i].axes;
      overwrites |= later && depends_on(stmt.yields[j], {stmt.carried[i]});
    }
    DType dtype = program_.values[stmt.carried[i]].dtype;
    Slot target = carried[i];
    if (overwrites) {
      target = make_slot(dtype, carried[i].axes, "next");
      copies.emplace_back(target, stmt.carried[i]);
    }
    sinks.push_back(keep_sink(stmt.yields[i], target));
  }
  return sinks;
}

void KernelEmitter::emit_loop(const Stmt& stmt) {
  AxisId axis = stmt.axis;
  AxisState saved = axes_[axis];
  const tile::Axis& info = program_.axes[axis];
  bool second = info.inner.has_value() && program_.in_grid(axis);
  llvm::Value* low = second ? saved.base : i64(0);
  llvm::Value* high = second ? ir_.CreateAdd(saved.base, saved.size) : dim(info.dim);
  const tile::Extent& extent = info.inner ? *info.inner : info.extent;
  std::optional<int64_t> most = program_.size_of(extent);
  auto clamp = [&](const tile::Index& bound) {
    llvm::Value* value = index(bound).first;
    value = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, low);
    return min64(value, high);
  };
  for (const auto* bound : {&stmt.from, &stmt.to}) {
    if (!bound->has_value()) continue;
    tile::for_each_term(**bound, [&](const tile::Index::Term& term) { prepare(term.value_id); });
  }
  for (ValueId init : stmt.init) prepare(init);
  flush();
  llvm::Value* to = stmt.to ? clamp(*stmt.to) : high;
  if (stmt.from) {
    llvm::Value* from = ir_.CreateSub(clamp(*stmt.from), low);
    llvm::Value* tiles = most ? ir_.CreateSDiv(from, i64(*most)) : i64(0);
    low = most ? ir_.CreateAdd(low, ir_.CreateMul(tiles, i64(*most))) : low;
  }

  std::vector<Slot> carried;
  for (size_t i = 0; i < stmt.init.size(); ++i) {
    const Value& value = program_.values[stmt.carried[i]];
    carried.push_back(make_slot(value.dtype, walked(value.axes), "carried"));
    push(keep_sink(stmt.init[i], carried[i]));
  }
  flush();

  std::vector<Level> levels = std::move(levels_);
  std::set<ValueId> prepared = prepared_;
  std::map<ValueId, Slot> slots = slots_;
  levels_.clear();
  llvm::Value* step =
      most ? i64(*most)
           : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, i64(1), ir_.CreateSub(high, low));
  loop(low, to, step, info.name, [&](llvm::Value* base) {
    levels_.assign(1, {});
    open_axis(axis, base, extent);
    axes_[axis].program = saved.program;
    axes_[axis].nonempty = true;
    axes_[axis].size = min64(axes_[axis].size, ir_.CreateSub(to, base));
    for (size_t i = 0; i < carried.size(); ++i) slots_[stmt.carried[i]] = carried[i];
    for_each_variant(stmt, [&] { emit_iteration(stmt, carried); });
    levels_.clear();
  });
  levels_ = std::move(levels);
  prepared_ = std::move(prepared);
  slots_ = std::move(slots);
  axes_[axis] = saved;
  for (size_t i = 0; i < carried.size(); ++i) slots_[stmt.results[i]] = carried[i];
}

void KernelEmitter::emit_iteration(const Stmt& stmt, const std::vector<Slot>& carried) {
  std::vector<std::pair<Slot, ValueId>> copies;
  std::vector<Sink> yields = yield_sinks(stmt, carried, copies);
  emit_block(stmt.body, yields);
  for (const auto& [from, id] : copies) {
    Slot target = slots_.at(id);
    slots_[id] = from;
    levels_.assign(1, {});
    push(keep_sink(id, target));
    flush();
    slots_[id] = target;
  }
}

}  // namespace weft::cpu
