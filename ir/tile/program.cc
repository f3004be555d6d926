// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/program.h"

#include <algorithm>
#include <array>

namespace weft::tile {
namespace {

constexpr std::array<std::string_view, kReduceCount> kReduceNames = {"add", "mul", "max",   "min",
                                                                     "and", "or",  "argmax"};

void use_values_of(const Index& index, const std::function<void(ValueId)>& fn) {
  for_each_term(index, [&](const Index::Term& term) {
    if (term.kind == Index::Term::value) fn(term.value_id);
  });
}

// Each dim of a program, which may be const.
template <class Fn>
struct DimVisitor {
  const Fn& fn;

  void visit(auto& index) const {
    fn(index.offset);
    for (auto& term : index.terms) {
      fn(term.scale);
      fn(term.divisor);
      for (auto& inner : term.inner) visit(inner);
    }
  }
  void visit_block(auto& block) const {
    for (auto& stmt : block) {
      for (auto& index : stmt.ref.at) visit(index);
      if (stmt.from) visit(*stmt.from);
      if (stmt.to) visit(*stmt.to);
      visit_block(stmt.body);
    }
  }
  void visit_program(auto& program) const {
    for (auto& buffer : program.buffers) {
      for (auto& dim : buffer.dims) fn(dim);
      for (auto& stride : buffer.strides) fn(stride);
    }
    for (auto& axis : program.axes) fn(axis.dim);
    for (auto& value : program.values) {
      for (auto& index : value.ref.at) visit(index);
      visit(value.index);
      if (value.limit) fn(*value.limit);
      fn(value.stream);
    }
    visit_block(program.body);
  }
};

}  // namespace

void for_each_dim(Program& program, const std::function<void(Dim&)>& fn) {
  DimVisitor<std::function<void(Dim&)>>{fn}.visit_program(program);
}

void for_each_dim(const Program& program, const std::function<void(const Dim&)>& fn) {
  DimVisitor<std::function<void(const Dim&)>>{fn}.visit_program(program);
}

std::set<std::string> symbols_of(const Program& program) {
  std::set<std::string> symbols;
  for_each_dim(program, [&](const Dim& dim) { dim.collect_symbols(symbols); });
  return symbols;
}

std::optional<int64_t> Program::size_of(const Extent& extent) const {
  switch (extent.kind) {
    case Extent::whole: return std::nullopt;
    case Extent::number: return extent.number_value;
    case Extent::knob: return knobs[extent.knob_index].value;
  }
  return std::nullopt;
}

bool Program::in_grid(AxisId axis) const {
  return std::ranges::any_of(grid, [&](const GridAxis& g) { return g.axis == axis; });
}

const Extent& Program::tile_extent(AxisId axis) const {
  return axes[axis].inner ? *axes[axis].inner : axes[axis].extent;
}

bool Program::is_scalar(AxisId axis) const { return tile_extent(axis) == Extent::by(1); }

Dim Program::programs_along(AxisId axis) const {
  const Dim& dim = axes[axis].dim;
  std::optional<int64_t> size = size_of(axes[axis].extent);
  if (!size) return Dim::min(dim, 1);
  return Dim::floor_div(dim + Dim(*size) - 1, *size);
}

std::vector<Dim> row_major_strides(const Shape& shape) {
  std::vector<Dim> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string_view name(Reduce reduction) { return kReduceNames[static_cast<size_t>(reduction)]; }

std::optional<Reduce> parse_reduce(std::string_view name) {
  auto found = std::ranges::find(kReduceNames, name);
  if (found == kReduceNames.end()) return std::nullopt;
  return static_cast<Reduce>(found - kReduceNames.begin());
}

std::vector<AxisId> unite(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  std::vector<AxisId> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

std::vector<AxisId> axes_of(const Program& program, const Index& index) {
  std::vector<AxisId> axes;
  for_each_term(index, [&](const Index::Term& term) {
    if (term.kind == Index::Term::axis && !program.is_scalar(term.axis_id)) {
      axes = unite(axes, {term.axis_id});
    } else if (term.kind == Index::Term::value) {
      axes = unite(axes, program.values[term.value_id].axes);
    }
  });
  return axes;
}

std::vector<AxisId> axes_of(const Program& program, const Ref& ref) {
  std::vector<AxisId> axes;
  for (const Index& index : ref.at) axes = unite(axes, axes_of(program, index));
  return axes;
}

bool gathers_along(const Program& program, const Ref& ref, AxisId axis) {
  bool gathers = false;
  for (const Index& at : ref.at) {
    for_each_term(at, [&](const Index::Term& term) {
      if (term.value_id == kNone) return;
      gathers |= std::ranges::count(program.values[term.value_id].axes, axis) > 0;
    });
  }
  return gathers;
}

void for_each_index(const Value& value, const std::function<void(const Index&)>& fn) {
  for (const Index& index : value.ref.at) fn(index);
  if (value.kind == Value::coord || value.kind == Value::random) fn(value.index);
}

void for_each_index(const Stmt& stmt, const std::function<void(const Index&)>& fn) {
  for (const Index& index : stmt.ref.at) fn(index);
  if (stmt.from) fn(*stmt.from);
  if (stmt.to) fn(*stmt.to);
}

void for_each_use(const Value& value, const std::function<void(ValueId)>& fn) {
  for_each_index(value, [&](const Index& index) { use_values_of(index, fn); });
  if (value.where != kNone) fn(value.where);
  for (ValueId operand : value.operands) fn(operand);
}

void for_each_use(const Stmt& stmt, const std::function<void(ValueId)>& fn) {
  for_each_index(stmt, [&](const Index& index) { use_values_of(index, fn); });
  for (ValueId init : stmt.init) fn(init);
  if (stmt.where != kNone) fn(stmt.where);
  if (stmt.kind != Stmt::let && stmt.kind != Stmt::loop) fn(stmt.value);
}

}  // namespace weft::tile
