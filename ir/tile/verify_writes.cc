// The verifier: what is written, and that one program owns each element.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/tile/verify_state.h"

namespace weft::tile {

void Verifier::check_write(const Stmt& stmt, bool outermost) {
  bool known = check_ref(stmt.ref) && check_use(stmt.value) && check_where(stmt.where);
  if (!known) return;
  stores_[stmt.ref.buffer].push_back(stmt.ref);
  const Buffer& buffer = program_.buffers[stmt.ref.buffer];
  if (buffer.mode == Buffer::in) {
    return fail("declare it out or inout", "%", buffer.name, " is written, but only an input");
  }
  if (stmt.kind == Stmt::update && buffer.mode != Buffer::inout) {
    fail("declare it inout", "%", buffer.name, " is added to, but is not inout");
  }
  check_written_type(stmt);
  if (stmt.kind == Stmt::accumulate) check_accumulate(stmt, outermost);
  if (stmt.kind == Stmt::scatter) check_scatter(stmt);
  check_owner(stmt);
  if (stmt.kind != Stmt::scatter) check_distinct(stmt);
}

void Verifier::check_written_type(const Stmt& stmt) {
  const Buffer& buffer = program_.buffers[stmt.ref.buffer];
  const Value& written = value(stmt.value);
  if (written.dtype != buffer.dtype) {
    fail(cat("cast it: cast.", name(buffer.dtype), "(..)"), "%", buffer.name, " has element type ",
         name(buffer.dtype), ", what is written ", name(written.dtype));
  }
  std::vector<AxisId> axes = written.axes;
  if (stmt.where != kNone) axes = unite(axes, value(stmt.where).axes);
  for (AxisId axis : axes) {
    if (std::ranges::binary_search(axes_of(program_, stmt.ref), axis)) continue;
    fail("", "what is written to %", buffer.name, " varies along ", axis_name(axis),
         ", but the element does not");
  }
}

// The element depends on where the axis stands.
bool Verifier::reaches(const Ref& ref, AxisId axis) const {
  bool found = false;
  for (const Index& index : ref.at) {
    for_each_term(index, [&](const Index::Term& term) {
      found = found || (term.axis_id == axis && term.kind != Index::Term::value);
    });
  }
  return found;
}

void Verifier::check_owner(const Stmt& stmt) {
  for (const GridAxis& grid : program_.grid) {
    Dim programs = program_.programs_along(grid.axis);
    if (programs.is_constant() && programs.constant() <= 1) continue;
    if (stmt.kind == Stmt::accumulate && stmt.axis == grid.axis) continue;
    bool ordered = stmt.kind == Stmt::update || stmt.kind == Stmt::scatter;
    if ((grid.serial && ordered) || reaches(stmt.ref, grid.axis)) continue;
    fail(cat("use ", axis_name(grid.axis), " in its index, or accumulate over it"),
         "every program along ", axis_name(grid.axis), " writes the same elements of %",
         program_.buffers[stmt.ref.buffer].name);
  }
}

// Different coordinates go to different elements, as far as can be decided by looking at each axis.
void Verifier::check_distinct(const Stmt& stmt) {
  const std::string& buffer = program_.buffers[stmt.ref.buffer].name;
  std::vector<bool> direct(program_.axes.size());   // some index has the axis by itself
  std::vector<bool> divided(program_.axes.size());  // some index has axis / n
  std::vector<bool> rest(program_.axes.size());     // some index has axis % n
  for (const Index& index : stmt.ref.at) {
    for (const Index::Term& term : index.terms) {
      if (term.kind == Index::Term::value && !value(term.value_id).axes.empty()) {
        return fail("use scatter", "the index of a store to %", buffer, " varies along ",
                    names(value(term.value_id).axes), " by numbers of a tile");
      }
      if (term.kind == Index::Term::axis) direct[term.axis_id] = true;
      for (AxisId axis = 0; axis < program_.axes.size() && !term.inner.empty(); ++axis) {
        if (!uses_axis(term.inner[0], axis)) continue;
        (term.kind == Index::Term::mod ? rest : divided)[axis] = true;
      }
    }
    check_sum(stmt.ref, index);
  }
  for (AxisId axis = 0; axis < program_.axes.size(); ++axis) {
    if (direct[axis] || divided[axis] == rest[axis]) continue;
    fail(cat("use ", axis_name(axis), " itself"), "several coordinates of ", axis_name(axis),
         " are written to one element of %", buffer);
  }
}

// i + j: (0, 1) and (1, 0) meet, unless another index tells them apart.
void Verifier::check_sum(const Ref& ref, const Index& index) {
  auto told_apart = [&](AxisId axis) {
    const Dim& dim = program_.axes[axis].dim;
    if (dim.is_constant() && dim.constant() <= 1) return true;
    return std::ranges::count_if(ref.at, [&](const Index& at) { return uses_axis(at, axis); }) > 1;
  };
  for (size_t i = 0; i + 1 < index.terms.size(); ++i) {
    const Index::Term& a = index.terms[i];
    const Index::Term& b = index.terms[i + 1];
    bool alike = a.kind == Index::Term::axis && b.kind == Index::Term::axis && a.scale == b.scale;
    if (!alike || told_apart(a.axis_id) || told_apart(b.axis_id)) continue;
    fail("", "coordinates of ", axis_name(a.axis_id), " and ", axis_name(b.axis_id),
         " meet in one element of %", program_.buffers[ref.buffer].name);
  }
}

void Verifier::check_accumulate(const Stmt& stmt, bool outermost) {
  const Buffer& buffer = program_.buffers[stmt.ref.buffer];
  scattered_[stmt.ref.buffer] = true;
  if (!outermost) fail("put it behind the loop", "accumulate to %", buffer.name, " inside a loop");
  if (stores_[stmt.ref.buffer].size() > 1) {
    fail("", "%", buffer.name, " is accumulated to, and also written otherwise");
  }
  if (stmt.where != kNone) fail("use select", "accumulate has no predicate");
  bool logical = stmt.reduction == Reduce::logical_and || stmt.reduction == Reduce::logical_or;
  if (stmt.reduction == Reduce::argmax || logical != (buffer.dtype == DType::boolean)) {
    fail("", "accumulate.", name(stmt.reduction), " of ", name(buffer.dtype));
  }
  if (buffer.mode != Buffer::out) {
    fail("declare it out", "%", buffer.name, " is accumulated to, but is not out");
  }
  if (stmt.axis >= program_.axes.size() || !program_.in_grid(stmt.axis)) {
    return fail("sum along it with reduce", "accumulate to %", buffer.name,
                " over an axis that is not in the grid");
  }
  if (reaches(stmt.ref, stmt.axis)) {
    fail("store it", "%", buffer.name, " is accumulated over ", axis_name(stmt.axis),
         ", but its element depends on it");
  }
}

void Verifier::check_scatter(const Stmt& stmt) {
  const std::string& buffer = program_.buffers[stmt.ref.buffer].name;
  scattered_[stmt.ref.buffer] = true;
  bool gathered = std::ranges::any_of(stmt.ref.at, [](const Index& index) {
    return std::ranges::any_of(
        index.terms, [](const Index::Term& term) { return term.kind == Index::Term::value; });
  });
  if (!gathered)
    fail("use store or update", "the index of a scatter to %", buffer, " has no values");
  if (!check_axis_use(stmt.axis, Index::Term::axis)) return;
  for (AxisId axis : axes_of(program_, stmt.ref)) {
    bool direct = std::ranges::any_of(stmt.ref.at,
                                      [&](const Index& index) { return uses_axis(index, axis); });
    if (axis == stmt.axis || direct) continue;
    fail(cat("loop along ", axis_name(axis), " by 1"), "a scatter to %", buffer,
         " in the order of ", axis_name(stmt.axis), " says nothing of the order along ",
         axis_name(axis));
  }
  for (const GridAxis& grid : program_.grid) {
    if (grid.axis == stmt.axis && !grid.serial) {
      fail("loop along it", "a scatter to %", buffer, " in the order of ", axis_name(stmt.axis),
           ", whose programs have no order");
    }
  }
}

}  // namespace weft::tile
