// The verifier: blocks, loops and branches.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/tile/verify_state.h"

namespace weft::tile {

void Verifier::check_block(const Block& block, bool outermost) {
  size_t before = scope_.size();
  for (const Stmt& stmt : block) check_statement(stmt, outermost);
  for (; scope_.size() > before; scope_.pop_back()) seen_[scope_.back()] = Seen::gone;
}

void Verifier::check_statement(const Stmt& stmt, bool outermost) {
  if (++statement_ < lines_.size()) line_ = lines_[statement_];
  switch (stmt.kind) {
    case Stmt::let:
      if (stmt.value >= program_.values.size()) return fail("", "a line defines an unknown value");
      if (seen_[stmt.value] != Seen::no) return fail("", "a value is defined twice");
      check_value(stmt.value);
      seen_[stmt.value] = Seen::defined;
      scope_.push_back(stmt.value);
      return;
    case Stmt::loop: return check_loop(stmt);
    case Stmt::when: return check_when(stmt);
    default: return check_write(stmt, outermost);
  }
}

void Verifier::check_when(const Stmt& stmt) {
  if (check_use(stmt.value) &&
      (value(stmt.value).dtype != DType::boolean || !value(stmt.value).axes.empty())) {
    fail("reduce it with reduce.or", "a branch needs a bool without axes, not ",
         name(value(stmt.value).dtype), names(value(stmt.value).axes));
  }
  check_block(stmt.body, false);
}

void Verifier::define(ValueId id, Value::Kind kind) {
  if (id >= program_.values.size() || seen_[id] != Seen::no || value(id).kind != kind) {
    return fail("", "a loop carries something that is no carried value of its own");
  }
  seen_[id] = Seen::defined;
  scope_.push_back(id);
}

bool Verifier::check_loop_axis(AxisId axis) {
  if (axis >= program_.axes.size()) {
    fail("", "a loop along an unknown axis");
    return false;
  }
  if (loops_.contains(axis)) {
    fail("", "a loop along ", axis_name(axis), " inside another one along it");
  } else if (program_.in_grid(axis) && !program_.axes[axis].inner) {
    fail(cat("give ", axis_name(axis), " two extents: by OUTER/INNER"), "a loop along ",
         axis_name(axis), ", of which each program has one tile");
  } else if (program_.tile_extent(axis).kind == Extent::whole) {
    fail(cat("give ", axis_name(axis), " an extent: by N"), "a loop along ", axis_name(axis),
         ", which is taken whole");
  }
  return true;
}

void Verifier::check_bound(const std::optional<Index>& bound, AxisId axis) {
  if (!bound || !check_index(*bound)) return;
  std::vector<AxisId> axes = axes_of(program_, *bound);
  if (!axes.empty()) {
    fail("use the base or end of a tile", "a bound of the loop along ", axis_name(axis),
         " varies along ", names(axes));
  }
}

bool Verifier::check_carried(const Stmt& loop) {
  size_t count = loop.carried.size();
  if (loop.init.size() != count || loop.yields.size() != count || loop.results.size() != count) {
    fail("", "the loop along ", axis_name(loop.axis), " begins with ", loop.init.size(),
         " values, yields ", loop.yields.size(), " and carries ", count);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!check_use(loop.init[i]) || loop.carried[i] >= program_.values.size()) return false;
    const Value& init = value(loop.init[i]);
    const Value& carried = value(loop.carried[i]);
    for (AxisId axis : carried.axes) {
      if (!check_axis_use(axis, Index::Term::axis)) return false;
    }
    if (init.dtype != carried.dtype || !std::ranges::includes(carried.axes, init.axes)) {
      fail("", "the loop along ", axis_name(loop.axis), " carries ", name(carried.dtype),
           names(carried.axes), " and begins with ", name(init.dtype), names(init.axes));
    }
    if (std::ranges::binary_search(carried.axes, loop.axis)) {
      fail("", "the loop along ", axis_name(loop.axis), " carries a tile of its own axis");
    }
  }
  return true;
}

void Verifier::check_yields(const Stmt& loop) {
  for (size_t i = 0; i < loop.yields.size(); ++i) {
    if (!check_use(loop.yields[i])) continue;
    const Value& yielded = value(loop.yields[i]);
    const Value& carried = value(loop.carried[i]);
    if (yielded.dtype != carried.dtype || yielded.axes != carried.axes) {
      fail("", "the loop along ", axis_name(loop.axis), " carries ", name(carried.dtype),
           names(carried.axes), " and yields ", name(yielded.dtype), names(yielded.axes));
    }
  }
}

void Verifier::check_loop(const Stmt& loop) {
  if (!check_loop_axis(loop.axis)) return;
  check_bound(loop.from, loop.axis);
  check_bound(loop.to, loop.axis);
  if (!check_carried(loop)) return;
  const Loc line = line_;
  size_t before = scope_.size();
  bool entered = loops_.insert(loop.axis).second;
  for (ValueId id : loop.carried) define(id, Value::carried);
  for (const Stmt& stmt : loop.body) check_statement(stmt, false);
  line_ = line;
  check_yields(loop);
  for (; scope_.size() > before; scope_.pop_back()) seen_[scope_.back()] = Seen::gone;
  if (entered) loops_.erase(loop.axis);
  for (size_t i = 0; i < loop.results.size(); ++i) {
    define(loop.results[i], Value::result);
    if (loop.results[i] >= program_.values.size()) return;
    check_type(value(loop.results[i]), value(loop.carried[i]).dtype, value(loop.carried[i]).axes);
  }
}

}  // namespace weft::tile
