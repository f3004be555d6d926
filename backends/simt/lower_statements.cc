// Statements: stores by the invocation that owns an element, branches.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"
#include "ir/support/check.h"

namespace weft::simt {

// Axes that nothing sums over, or whose sums are walked again: one step after the other is a
// program of its own.
void Lowering::with_axis_steps(const std::vector<AxisId>& axes, const std::function<void()>& body) {
  std::vector<AxisId> free;
  for (AxisId axis : axes) {
    const bool summed = facts_.reduced.contains(axis) || facts_.contracted.contains(axis);
    const AxisLayout& layout = layout_.axes[axis];
    if (layout.stepped && (!summed || layout.walked_again)) free.push_back(axis);
  }
  in_steps(free, known_before_steps(), body);
}

// What a program stores, if it does nothing but to compute it, and reads nothing that it writes:
// then what does not vary can be computed before all steps.
std::vector<ValueId> Lowering::known_before_steps() const {
  std::vector<ValueId> roots;
  for (const Stmt& stmt : p_.body) {
    if (stmt.kind == Stmt::let) continue;
    if (stmt.kind != Stmt::store || stmt.where != kNone || reads(stmt.ref.buffer)) return {};
    roots.push_back(stmt.value);
  }
  return roots;
}

void Lowering::serial_axes(size_t next, const std::function<void()>& body) {
  while (next < p_.grid.size() && !p_.grid[next].serial) ++next;
  if (next == p_.grid.size()) return body();
  const AxisId axis = p_.grid[next].axis;
  const std::string& name = p_.axes[axis].name;
  const std::string number = fresh("at_" + name + "_program");
  open_loop("for (int " + number + " = 0; " + number + " < " + dim(p_.programs_along(axis)) +
                "; ++" + number + ")",
            p_.programs_along(axis));
  axes_[axis].program = number;
  const int64_t size = p_.size_of(p_.axes[axis].extent).value_or(0);
  axes_[axis].base = integer(number + " * " + std::to_string(size));
  axes_[axis].part = axes_[axis].base;
  serial_axes(next + 1, body);
  close_loop();
}

void Lowering::block(const tile::Block& block, size_t first) {
  for (size_t i = first; i < block.size(); ++i) {
    const size_t last = last_together(block, i);
    std::vector<const Stmt*> stores;
    for (size_t k = i; k <= last; ++k) {
      if (block[k].ref.buffer == kNone) continue;
      sum_before(block[k].ref.buffer, block, last + 1);
      stores.push_back(&block[k]);
    }
    if (last > i) {
      store(stores);
      i = last;
      continue;
    }
    statement(block[i]);
  }
}

// The last of the stores from `first` on that has to be walked together with it, since it needs
// what the ones before it overwrite. Values that have a line of their own are as they were there.
size_t Lowering::last_together(const tile::Block& block, size_t first) {
  if (block[first].kind != Stmt::store) return first;
  std::map<BufferId, size_t> overwritten = {{block[first].ref.buffer, first}};  // and where
  std::map<ValueId, size_t> lines;  // of values, from here on
  // `line`: the first one that has the value, or what is computed from it.
  std::function<bool(ValueId, size_t)> needs = [&](ValueId id, size_t line) {
    const Value& value = p_.values[id];
    if (auto own = lines.find(id); own != lines.end()) line = std::min(line, own->second);
    if (defined_.contains(id)) line = first;
    const bool sums = value.kind == Value::reduce || value.kind == Value::dot;
    if (sums && !varies(id, {})) return false;  // is summed up before
    bool result = false;
    if (value.kind == Value::load && varies(id, {})) {
      const auto store = overwritten.find(value.ref.buffer);
      result = store != overwritten.end() && line <= store->second;
    }
    tile::for_each_use(value, [&](ValueId use) { result = result || needs(use, line); });
    return result;
  };
  size_t last = first;
  for (size_t i = first + 1; i < block.size(); ++i) {
    if (block[i].kind == Stmt::let) lines.emplace(block[i].value, i);
    if (block[i].kind == Stmt::let) continue;
    if (block[i].kind != Stmt::store) break;
    tile::for_each_use(block[i], [&](ValueId id) {
      if (needs(id, block.size())) last = i;
    });
    overwritten.emplace(block[i].ref.buffer, i);
  }
  return last;
}

// What is walked in steps is read again by each walk. Before a buffer is overwritten, everything
// that is summed up from what it held is summed up.
void Lowering::sum_before(BufferId buffer, const tile::Block& block, size_t next) {
  std::map<ValueId, bool> known;
  std::function<bool(ValueId)> reads = [&](ValueId id) {
    auto found = known.find(id);
    if (found != known.end()) return found->second;
    const Value& value = p_.values[id];
    bool result = value.kind == Value::load && value.ref.buffer == buffer && varies(id, {});
    tile::for_each_use(value, [&](ValueId use) { result = reads(use) || result; });
    return known[id] = result;
  };
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == kNone || !reads(id)) return;
    const Value& value = p_.values[id];
    const bool sums = value.kind == Value::reduce || value.kind == Value::dot;
    if (sums && !varies(id, {})) {
      evaluate(id);
    } else if (value.kind == Value::load) {
      fail("%" + p_.buffers[buffer].name + " is read again after it was overwritten");
    } else {
      tile::for_each_use(value, visit);
    }
  };
  for (size_t i = next; i < block.size(); ++i) {
    for_each_statement({block[i]}, [&](const Stmt& stmt) {
      tile::for_each_use(stmt, visit);
      for (ValueId id : stmt.yields) visit(id);
    });
  }
  for (ValueId id : later_) visit(id);
}

void Lowering::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::let: {
      defined_.insert(stmt.value);
      // What still has to be walked in steps is computed in each walk.
      if (!varies(stmt.value, {})) evaluate(stmt.value);
      return;
    }
    case Stmt::store:
    case Stmt::update: return store({&stmt});
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

// Who writes an element of a statement: one of those that hold it, if it exists and is wanted.
std::string Lowering::write_condition(const Stmt& stmt, const std::vector<AxisId>& axes,
                                      const Point& at) {
  std::string condition = owner_condition(axes);
  for (AxisId axis : axes) {
    const std::string one = exists(axis, at);
    if (!one.empty()) condition += (condition.empty() ? "" : " && ") + one;
  }
  if (stmt.where != kNone) {
    condition += (condition.empty() ? "" : " && ") + scalar(stmt.where, at);
  }
  return condition;
}

// Whether invocations that do not write an element read it: they have to be done first.
bool Lowering::others_read(const Stmt& stmt, const std::vector<AxisId>& axes) const {
  const bool read = std::ranges::any_of(facts_.accesses, [&](const Access& access) {
    return !access.writes && access.ref->buffer == stmt.ref.buffer;
  });
  if (!read) return false;
  for (AxisId axis = 0; axis < p_.axes.size(); ++axis) {
    const AxisLayout& layout = layout_.axes[axis];
    if (layout.lanes * layout.waves > 1 && std::ranges::count(axes, axis) == 0) return true;
  }
  return false;
}

// The axis along which a store writes fours, if it does.
AxisId Lowering::stored_pack(const Stmt& stmt) {
  const AxisId pack = packed_axis(p_, stmt.ref, aligned_[stmt.ref.buffer]);
  if (pack == kNone || layout_.axes[pack].pack != 4) return kNone;
  const bool words = byte_size(p_.buffers[stmt.ref.buffer].dtype) == 4;
  const bool alone = stmt.kind == Stmt::update || stmt.where != kNone;
  return words && !alone && packs_whole(stmt.ref.buffer) ? pack : kNone;
}

// Stores that walk their steps together: everything is read before anything is written.
void Lowering::store(const std::vector<const Stmt*>& stmts) {
  std::vector<AxisId> all;
  std::vector<ValueId> roots;
  for (const Stmt* stmt : stmts) {
    all = tile::unite(all, walked_axes(*stmt));
    roots.push_back(stmt->value);
    if (stmt->where != kNone) roots.push_back(stmt->where);
  }
  in_steps(all, roots, [&] {
    struct Write {
      const Stmt* stmt;
      AxisId pack;
      std::string condition, value;
      Point at;
    };
    std::vector<Write> writes;
    bool waits = false;
    for (const Stmt* stmt : stmts) {
      const std::vector<AxisId> axes = walked_axes(*stmt);
      const AxisId pack = stored_pack(*stmt);
      waits |= others_read(*stmt, axes);
      for (const Point& at : points(axes, pack)) {
        const std::string condition = write_condition(*stmt, axes, at);
        std::string value = pack != kNone ? vector(stmt->value, at, pack) : scalar(stmt->value, at);
        writes.push_back({stmt, pack, condition, std::move(value), at});
      }
    }
    if (waits) line("barrier();");
    std::string condition;
    for (const Write& write : writes) {
      if (write.condition != condition) {
        if (!condition.empty()) close();
        condition = write.condition;
        if (!condition.empty()) open("if (" + condition + ")");
      }
      write_element(*write.stmt, write.at, write.value, write.pack != kNone);
    }
    if (!condition.empty()) close();
  });
}

void Lowering::write_element(const Stmt& stmt, const Point& at, const std::string& value,
                             bool four) {
  const std::string place =
      four ? address_of_four(stmt.ref, at, false) : address(stmt.ref, at, false);
  if (stmt.kind != Stmt::update) return put(stmt.ref.buffer, place, value, four);
  const std::string known = integer(place);
  put(stmt.ref.buffer, known, fetch(stmt.ref.buffer, known, false) + " + " + value, false);
}

// Contributions in ascending order of the axis: it lies in registers and steps alone.
void Lowering::scatter(const Stmt& stmt) {
  const std::vector<AxisId> axes = walked_axes(stmt);
  std::vector<AxisId> ordered = axes;
  // The order's axis varies slowest.
  std::erase(ordered, stmt.axis);
  if (std::ranges::count(axes, stmt.axis) > 0) ordered.insert(ordered.begin(), stmt.axis);
  in_steps(ordered, {stmt.value}, [&] {
    for (const Point& at : points(ordered)) {
      const std::string condition = write_condition(stmt, axes, at);
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

}  // namespace weft::simt
