// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_kinds.h"

#include <algorithm>
#include <limits>

#include "ir/support/check.h"
#include "passes/regions.h"

namespace weft::lowering {

using tile::Extent;
using tile::Reduce;

Extent knob_for(Tracer& t, const std::string& name, int64_t value, const Dim& dim,
                tile::Knob::Kind kind) {
  if (dim.is_constant()) value = std::clamp<int64_t>(dim.constant(), 1, value);
  return t.b().knob(name, value, kind);
}

AxisId add_axis(Tracer& t, const Space::Group& group, const std::string& name, Extent extent,
                std::optional<Extent> inner) {
  const AxisId axis = t.b().axis(name, group.dim, extent, inner);
  t.space().bind(group, axis);
  return axis;
}

namespace {

std::vector<AxisId> add_each(Tracer& t, const std::vector<Space::Group>& groups,
                             const std::string& name, Extent first, Extent last) {
  std::vector<AxisId> axes;
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string own = groups.size() == 1 ? name : name + std::to_string(i);
    axes.push_back(add_axis(t, groups[i], own, i + 1 == groups.size() ? last : first));
  }
  return axes;
}

}  // namespace

std::vector<AxisId> add_axes(Tracer& t, const std::vector<Space::Group>& groups,
                             const std::string& name, Extent last) {
  return add_each(t, groups, name, Extent::by(1), last);
}

std::vector<AxisId> add_whole_axes(Tracer& t, const std::vector<Space::Group>& groups,
                                   const std::string& name) {
  return add_each(t, groups, name, {}, {});
}

void add_to_grid(Tracer& t, const std::vector<AxisId>& axes) {
  for (AxisId axis : axes) t.b().grid(axis);
}

std::vector<AxisId> tile_axes(Tracer& t, const std::vector<AxisId>& axes) {
  std::vector<AxisId> result;
  for (AxisId axis : axes) {
    if (!t.b().program().is_scalar(axis)) result.push_back(axis);
  }
  return result;
}

Reduce reduction_of(Op op) {
  switch (op) {
    case Op::sum: return Reduce::add;
    case Op::prod: return Reduce::mul;
    case Op::max: return Reduce::max;
    case Op::min: return Reduce::min;
    case Op::all: return Reduce::logical_and;
    case Op::any: return Reduce::logical_or;
    case Op::argmax: return Reduce::argmax;
    default: WEFT_CHECK(false, "no primitive reduction: " + std::string(name(op)));
  }
  return Reduce::add;
}

ValueId identity_of(Tracer& t, Reduce reduction, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduce::mul:
    case Reduce::logical_and: return t.b().constant(1, dtype);
    case Reduce::max:
      return is_float(dtype) ? t.b().constant(-kInfinity, dtype)
                             : t.b().integer(lowest_integer(dtype), dtype);
    case Reduce::min:
      return is_float(dtype) ? t.b().constant(kInfinity, dtype)
                             : t.b().integer(highest_integer(dtype), dtype);
    default: return t.b().constant(0, dtype);
  }
}

ValueId combine(Tracer& t, Reduce reduction, ValueId a, ValueId b) {
  switch (reduction) {
    case Reduce::add: return t.b().map(Op::add, {a, b});
    case Reduce::mul: return t.b().map(Op::mul, {a, b});
    case Reduce::max: return t.b().map(Op::maximum, {a, b});
    case Reduce::min: return t.b().map(Op::minimum, {a, b});
    case Reduce::logical_and: return t.b().map(Op::logical_and, {a, b});
    case Reduce::logical_or: return t.b().map(Op::logical_or, {a, b});
    case Reduce::argmax: WEFT_CHECK(false, "argmax runs along the columns of one row");
  }
  return tile::kNone;
}

Coordinates after_reduction(const Node& node, const Coordinates& at) {
  const std::vector<int64_t> reduced = reduced_axes(node);
  const bool keepdims = node.attrs.boolean("keepdims");
  Coordinates result;
  for (size_t i = 0; i < at.size(); ++i) {
    const bool gone = std::ranges::count(reduced, static_cast<int64_t>(i)) > 0;
    if (!gone) result.push_back(at[i]);
    if (gone && keepdims) result.emplace_back();
  }
  return result;
}

std::vector<tile::Carry> begin_columns(Tracer& t, const std::vector<ColumnReduction>& columns) {
  std::vector<tile::Carry> carries;
  for (const ColumnReduction& column : columns) {
    const DType dtype = column.node->types[0].dtype;
    carries.push_back({identity_of(t, reduction_of(column.node->op), dtype), column.kept, {}});
  }
  return carries;
}

std::vector<ValueId> add_columns(Tracer& t, const std::vector<ColumnReduction>& columns,
                                 const std::vector<ValueId>& carried,
                                 const std::vector<AxisId>& rows) {
  std::vector<ValueId> sums;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnReduction& column = columns[i];
    const Reduce reduction = reduction_of(column.node->op);
    ValueId value = t.with_axes(t.at(column.node->operands[0], column.in), column.kept);
    std::vector<AxisId> reduced = column.reduced;
    reduced.insert(reduced.end(), rows.begin(), rows.end());
    value = t.reduce_over(reduction, value, reduced);
    sums.push_back(carried.empty() ? value : combine(t, reduction, carried[i], value));
  }
  return sums;
}

void accumulate_columns(Tracer& t, const std::vector<ColumnReduction>& columns,
                        const std::vector<ValueId>& sums, AxisId over) {
  for (size_t i = 0; i < columns.size(); ++i) {
    Tracer::Target to = t.target(columns[i].result, columns[i].out);
    t.b().accumulate(to.buffer, std::move(to.at), sums[i], over, reduction_of(columns[i].node->op));
  }
}

Value without_views(const Region& region, Value value) {
  const Graph& body = region.body();
  while (body.node(value).op == Op::reshape || body.node(value).op == Op::transpose) {
    value = body.node(value).operands[0];
  }
  return value;
}

Coordinates after_views(Tracer& t, Value value, const Coordinates& at) {
  const Graph& body = t.region().body();
  const Value base = without_views(t.region(), value);
  std::vector<Value> chain;
  for (; value != base; value = body.node(value).operands[0]) chain.push_back(value);
  Coordinates result = at;
  for (size_t i = chain.size(); i-- > 0;) {
    const Node& node = body.node(chain[i]);
    if (node.op == Op::reshape) {
      result =
          t.across_reshape(t.region().shape(chain[i]), t.region().shape(node.operands[0]), result);
      continue;
    }
    Coordinates moved;
    for (int64_t axis : node.attrs.ints("perm")) {
      moved.push_back(result[static_cast<size_t>(axis)]);
    }
    result = std::move(moved);
  }
  return result;
}

}  // namespace weft::lowering
