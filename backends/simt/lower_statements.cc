// Statements: stores by the invocation that owns an element, loops, branches.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"
#include "ir/support/check.h"

namespace weft::simt {

// Axes that nothing sums over: one step after the other is a program of its own.
void Lowering::with_axis_steps(const std::vector<AxisId>& axes, const std::function<void()>& body) {
  std::vector<AxisId> free;
  for (AxisId axis : axes) {
    const bool summed = facts_.reduced.contains(axis) || facts_.contracted.contains(axis);
    if (layout_.axes[axis].stepped && !summed) free.push_back(axis);
  }
  in_steps(free, {}, body);
}

void Lowering::serial_axes(size_t next, const std::function<void()>& body) {
  while (next < p_.grid.size() && !p_.grid[next].serial) ++next;
  if (next == p_.grid.size()) return body();
  const AxisId axis = p_.grid[next].axis;
  const std::string& name = p_.axes[axis].name;
  const std::string number = fresh("at_" + name + "_program");
  open("for (int " + number + " = 0; " + number + " < " + dim(p_.programs_along(axis)) + "; ++" +
       number + ")");
  axes_[axis].program = number;
  const int64_t size = p_.size_of(p_.axes[axis].extent).value_or(0);
  axes_[axis].base = integer(number + " * " + std::to_string(size));
  axes_[axis].part = axes_[axis].base;
  serial_axes(next + 1, body);
  close();
}

void Lowering::block(const tile::Block& block, size_t first) {
  for (size_t i = first; i < block.size(); ++i) statement(block[i]);
}

void Lowering::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::let: {
      // What still has to be walked in steps is computed in each walk.
      if (!varies(stmt.value, {})) evaluate(stmt.value);
      return;
    }
    case Stmt::store:
    case Stmt::update: return store(stmt);
    case Stmt::scatter: return scatter(stmt);
    case Stmt::loop: return loop(stmt);
    case Stmt::when: return when(stmt);
    case Stmt::accumulate: WEFT_CHECK(false, "accumulate was made into two programs");
  }
}

// Of invocations that hold the same element the first one writes it.
std::string Lowering::owner_condition(const std::vector<AxisId>& axes) {
  std::string text;
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    if (std::ranges::count(axes, axis) > 0) continue;
    std::string own;
    if (!axes_[axis].own.empty()) own = axes_[axis].own + " == 0";
    if (open_.contains(axis)) own += (own.empty() ? "" : " && ") + axes_[axis].step + " == 0";
    if (!own.empty()) text += (text.empty() ? "" : " && ") + own;
  }
  int64_t used = 1;
  for (const AxisLayout& layout : layout_.axes) used *= layout.lanes;
  if (used < layout_.lanes) {
    text += (text.empty() ? "" : " && ") + std::string("lane < ") + std::to_string(used);
  }
  return text;
}

std::vector<AxisId> Lowering::walked_axes(const Stmt& stmt) const {
  std::vector<AxisId> axes = tile::axes_of(p_, stmt.ref);
  if (stmt.value != kNone) axes = tile::unite(axes, p_.values[stmt.value].axes);
  if (stmt.where != kNone) axes = tile::unite(axes, p_.values[stmt.where].axes);
  return axes;
}

void Lowering::store(const Stmt& stmt) {
  const std::vector<AxisId> axes = walked_axes(stmt);
  std::vector<ValueId> roots = {stmt.value};
  if (stmt.where != kNone) roots.push_back(stmt.where);
  AxisId pack = packed_axis(p_, stmt.ref, aligned_[stmt.ref.buffer]);
  const bool words = byte_size(p_.buffers[stmt.ref.buffer].dtype) == 4;
  const bool alone = stmt.kind == Stmt::update || stmt.where != kNone;
  if (pack != kNone && (layout_.axes[pack].pack != 4 || !words || alone)) pack = kNone;
  if (pack != kNone && !packs_whole(stmt.ref.buffer)) pack = kNone;
  const std::string owner = owner_condition(axes);
  in_steps(axes, roots, [&] {
    struct Write {
      std::string condition, value;
      Point at;
    };
    std::vector<Write> writes;  // everything is read before anything is written
    for (const Point& at : points(axes, pack)) {
      std::string condition = owner;
      for (AxisId axis : axes) {
        const std::string one = exists(axis, at);
        if (!one.empty()) condition += (condition.empty() ? "" : " && ") + one;
      }
      if (stmt.where != kNone) {
        condition += (condition.empty() ? "" : " && ") + scalar(stmt.where, at);
      }
      std::string value = pack != kNone ? vector(stmt.value, at, pack) : scalar(stmt.value, at);
      writes.push_back({condition, value, at});
    }
    std::string condition;
    for (const Write& write : writes) {
      if (write.condition != condition) {
        if (!condition.empty()) close();
        condition = write.condition;
        if (!condition.empty()) open("if (" + condition + ")");
      }
      const std::string place = address(stmt.ref, write.at, false);
      std::string value = write.value;
      if (stmt.kind == Stmt::update) {
        const std::string at = integer(place);
        value = fetch(stmt.ref.buffer, at, false) + " + " + value;
        put(stmt.ref.buffer, at, value, false);
      } else {
        put(stmt.ref.buffer, place, value, pack != kNone);
      }
    }
    if (!condition.empty()) close();
  });
}

// Contributions in ascending order of the axis: it lies in registers and steps alone.
void Lowering::scatter(const Stmt& stmt) {
  const std::vector<AxisId> axes = walked_axes(stmt);
  std::vector<AxisId> ordered = axes;
  // The order's axis varies slowest.
  std::erase(ordered, stmt.axis);
  if (std::ranges::count(axes, stmt.axis) > 0) ordered.insert(ordered.begin(), stmt.axis);
  const std::string owner = owner_condition(axes);
  in_steps(ordered, {stmt.value}, [&] {
    for (const Point& at : points(ordered)) {
      std::string condition = owner;
      for (AxisId axis : axes) {
        const std::string one = exists(axis, at);
        if (!one.empty()) condition += (condition.empty() ? "" : " && ") + one;
      }
      if (stmt.where != kNone) {
        condition += (condition.empty() ? "" : " && ") + scalar(stmt.where, at);
      }
      const std::string value = scalar(stmt.value, at);
      open(condition.empty() ? "" : "if (" + condition + ")");
      const std::string place = integer(address(stmt.ref, at, false));
      put(stmt.ref.buffer, place,
          stmt.adds ? fetch(stmt.ref.buffer, place, false) + " + " + value : value, false);
      close();
    }
  });
}

void Lowering::when(const Stmt& stmt) {
  open("if (" + scalar(stmt.value, Point(p_.axes.size(), 0)) + ")");
  block(stmt.body);
  close();
}

namespace {

// Whether a value is another in each tile of a loop.
class LoopDependence {
 public:
  LoopDependence(const tile::Program& program, const Stmt& loop, const Facts& facts)
      : p_(program), loop_(loop), facts_(facts) {}

  bool depends(ValueId id) {
    auto found = known_.find(id);
    if (found != known_.end()) return found->second;
    const Value& value = p_.values[id];
    bool result = value.kind == Value::carried || value.kind == Value::result ||
                  std::ranges::count(value.axes, loop_.axis) > 0;
    if (value.kind == Value::load) result |= facts_.written.contains(value.ref.buffer);
    tile::for_each_index(value, [&](const Index& index) {
      tile::for_each_term(index,
                          [&](const Index::Term& term) { result |= term.axis_id == loop_.axis; });
    });
    for (AxisId axis : value.axes_reduced) result |= axis == loop_.axis;
    tile::for_each_use(value, [&](ValueId use) { result = result || depends(use); });
    known_[id] = result;
    return result;
  }

 private:
  const tile::Program& p_;
  const Stmt& loop_;
  const Facts& facts_;
  std::map<ValueId, bool> known_;
};

}  // namespace

void Lowering::loop(const Stmt& stmt) {
  const tile::Axis& axis = p_.axes[stmt.axis];
  AxisState& state = axes_[stmt.axis];
  // What stays the same comes first.
  LoopDependence dependence(p_, stmt, facts_);
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == kNone || !seen.insert(id).second) return;
    const bool inner_axes = std::ranges::any_of(p_.values[id].axes, [&](AxisId a) {
      return p_.axes[a].extent.kind != tile::Extent::whole && !p_.in_grid(a);
    });
    if (!dependence.depends(id) && !inner_axes && !varies(id, {})) {
      // Loads of an invariant tile that only a branch or a guarded load needs stay where they are.
      if (p_.values[id].kind != Value::load || p_.values[id].where == kNone) return evaluate(id);
    }
    tile::for_each_use(p_.values[id], visit);
  };
  for_each_statement(stmt.body, [&](const Stmt& inner) {
    if (inner.kind == Stmt::when) return;
    tile::for_each_use(inner, visit);
    for (ValueId id : inner.yields) visit(id);
  });
  for (ValueId id : stmt.yields) visit(id);

  const AxisId innermost = innermost_;
  hoist_addresses({seen.begin(), seen.end()}, stmt.axis);

  std::vector<std::vector<std::string>> carried(stmt.carried.size());
  std::vector<std::vector<Point>> at(stmt.carried.size());
  for (size_t i = 0; i < stmt.carried.size(); ++i) {
    const ValueId id = stmt.carried[i];
    const AxisId pack = pack_of(id);
    packs_[stmt.results[i]] = pack;
    at[i] = points(p_.values[id].axes, pack);
    const std::string hint =
        p_.values[id].name.empty() ? "carried" : identifier(p_.values[id].name);
    for (const Point& point : at[i]) {
      const std::string start =
          pack != kNone ? vector(stmt.init[i], point, pack) : scalar(stmt.init[i], point);
      carried[i].push_back(fresh("c_" + hint));
      line(type_name(p_.values[id].dtype, pack != kNone) + " " + carried[i].back() + " = " + start +
           ";");
    }
  }

  const Point nowhere(p_.axes.size(), 0);
  const int64_t tile = p_.size_of(p_.tile_extent(stmt.axis)).value_or(1);
  const std::string first = axis.inner ? state.part : "0";
  std::string last = dim(axis.dim);
  if (axis.inner) {
    last = integer("min(" + state.part + " + " + std::to_string(*p_.size_of(axis.extent)) + ", " +
                   last + ")");
  }
  std::string from = first;
  if (stmt.from) {
    const std::string low = "max(" + index(*stmt.from, nowhere, false) + " - " + first + ", 0)";
    from = integer(first + " + (" + low + ") / " + std::to_string(tile) + " * " +
                   std::to_string(tile));
  }
  if (stmt.to) last = integer("min(" + index(*stmt.to, nowhere, false) + ", " + last + ")");
  const std::string base = fresh("at_" + axis.name + "_tile");
  open("for (int " + base + " = " + from + "; " + base + " < " + last + "; " + base +
       " += " + std::to_string(tile) + ")");
  const AxisState before = state;
  innermost_ = stmt.axis;
  state.base = base;
  for (size_t i = 0; i < stmt.carried.size(); ++i) {
    for (size_t k = 0; k < at[i].size(); ++k) {
      know(key_of(stmt.carried[i], at[i][k], pack_of(stmt.carried[i])), carried[i][k]);
    }
  }
  with_axis_steps({stmt.axis}, [&] {
    block(stmt.body);
    // All of the next values before any of the old ones goes.
    std::vector<std::pair<std::string, std::string>> moves;
    std::map<std::string, std::string> types, scalar_types;
    for (size_t i = 0; i < stmt.carried.size(); ++i) {
      const AxisId pack = pack_of(stmt.carried[i]);
      const DType dtype = p_.values[stmt.carried[i]].dtype;
      for (size_t k = 0; k < at[i].size(); ++k) {
        const std::string next = pack != kNone ? vector(stmt.yields[i], at[i][k], pack)
                                               : scalar(stmt.yields[i], at[i][k]);
        if (next == carried[i][k]) continue;
        types[carried[i][k]] = type_name(dtype, pack != kNone);
        scalar_types[carried[i][k]] = type_name(dtype, false);
        moves.emplace_back(carried[i][k], next);
      }
    }
    // A value that is passed on from one to another is kept first.
    for (auto& [to, next] : moves) {
      if (moves.size() < 2 || !next.starts_with("c_")) continue;
      const std::string kept = fresh("kept");
      const bool four = next.find('.') == std::string::npos && types.at(to).ends_with("vec4");
      line((four ? types.at(to) : scalar_types.at(to)) + " " + kept + " = " + next + ";");
      next = kept;
    }
    for (const auto& [to, next] : moves) line(to + " = " + next + ";");
  });
  state = before;
  innermost_ = innermost;
  close();
  for (size_t i = 0; i < stmt.results.size(); ++i) {
    for (size_t k = 0; k < at[i].size(); ++k) {
      know(key_of(stmt.results[i], at[i][k], pack_of(stmt.results[i])), carried[i][k]);
    }
  }
}

}  // namespace weft::simt
