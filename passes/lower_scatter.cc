// Regions of kind scatter: a copy of something, with elements written at computed positions.
// SPDX-License-Identifier: Apache-2.0
#include "ir/support/check.h"
#include "passes/lower_kinds.h"

namespace weft::lowering {
namespace {

using tile::Extent;

constexpr int64_t kBlockColumns = 64;
constexpr int64_t kBlockPositions = 64;

void add_column_axes(Tracer& t) {
  const std::vector<Space::Group> columns = t.space().groups(Role::row);
  if (columns.empty()) return;
  add_to_grid(t, add_axes(t, columns, "d", knob_for(t, "BD", kBlockColumns, columns.back().dim)));
}

// Calls write(innermost axis) in loops over the positions, in ascending order.
template <class Write>
void in_order(Tracer& t, Write write) {
  const std::vector<Space::Group> positions = t.space().groups(Role::position);
  std::vector<AxisId> axes;
  if (positions.empty()) {
    axes = {t.b().axis("n", 1, Extent::by(1))};
  } else {
    axes = add_axes(t, positions, "n", knob_for(t, "BN", kBlockPositions, positions.back().dim));
  }
  for (AxisId axis : axes) t.begin_loop(axis);
  write(axes.back());
  for (size_t i = 0; i < axes.size(); ++i) t.end_loop();
}

void scatter(Tracer& t, const Coordinates& at, ValueId value, AxisId order, bool adds) {
  Tracer::Target to = t.target(0, at, true);
  t.b().scatter(to.buffer, std::move(to.at), value, order, adds);
}

// scatter, scatter_add: `indices` has axes of its own, in the place of one axis of the result.
void trace_scatter(Tracer& t, const Node& node, bool adds) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Shape updates = t.region().shape(node.operands[2]);
  const size_t positions = t.region().shape(node.operands[1]).size();
  Coordinates at;
  for (size_t i = 0; i < updates.size(); ++i) {
    const bool numbered = i >= axis && i < axis + positions;
    at.push_back(t.space().direction(updates[i], numbered ? Role::position : Role::row));
  }
  add_column_axes(t);
  in_order(t, [&](AxisId order) {
    auto begin = at.begin() + static_cast<ptrdiff_t>(axis);
    auto end = begin + static_cast<ptrdiff_t>(positions);
    const ValueId index = t.with_axes(t.at(node.operands[1], Coordinates(begin, end)), {order});
    Coordinates to(at.begin(), begin);
    to.push_back(tile::value_index(index));
    to.insert(to.end(), end, at.end());
    scatter(t, to, t.at(node.operands[2], at), order, adds);
  });
}

// add_along_axis: an index for each update.
void trace_along(Tracer& t, const Node& node) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Shape updates = t.region().shape(node.operands[2]);
  Coordinates at;
  for (size_t i = 0; i < updates.size(); ++i) {
    at.push_back(t.space().direction(updates[i], i == axis ? Role::position : Role::row));
  }
  add_column_axes(t);
  in_order(t, [&](AxisId order) {
    Coordinates to = at;
    to[axis] = tile::value_index(t.with_axes(t.at(node.operands[1], at), {order}));
    scatter(t, to, t.at(node.operands[2], at), order, true);
  });
}

// update_slice: positions follow each other, so that no two meet.
void trace_update(Tracer& t, const Node& node) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Coordinates at = t.space().directions(t.region().shape(node.operands[1]), Role::row);
  add_column_axes(t);
  Coordinates to = at;
  to[axis] = to[axis] + tile::value_index(t.at(node.operands[2], {}));
  Tracer::Target target = t.target(0, to, true);
  t.b().store(target.buffer, std::move(target.at), t.at(node.operands[1], at));
}

void trace_copy(Tracer& t, Value in) {
  const Coordinates at = t.space().directions(t.region().shape(in), Role::row);
  add_map_axes(t);
  t.store(0, at, t.at(in, at));
}

}  // namespace

TracedRegion lower_scatter(const Region& region, const std::string& name) {
  const Graph& body = region.body();
  const Node& node = body.node(body.outputs[0].value);
  TracedRegion result;
  const Value in = node.operands[0];
  result.programs.push_back(
      trace_program(region, name + "_copy", [&](Tracer& t) { trace_copy(t, in); }));
  if (body.node(in).op == Op::input) result.copy_program = 0;
  result.programs.push_back(trace_program(region, name, [&](Tracer& t) {
    switch (node.op) {
      case Op::scatter: return trace_scatter(t, node, false);
      case Op::scatter_add: return trace_scatter(t, node, true);
      case Op::add_along_axis: return trace_along(t, node);
      case Op::update_slice: return trace_update(t, node);
      default: WEFT_CHECK(false, "a scatter region ends in a scatter");
    }
  }));
  return result;
}

}  // namespace weft::lowering
