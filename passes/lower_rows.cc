// Regions of kind rows: reductions along rows, and down columns, of one space.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "passes/lower_kinds.h"
#include "passes/regions.h"

namespace weft::lowering {
namespace {

using tile::Extent;
using tile::Knob;

constexpr int64_t kElementsPerPartial = 65536;     // as long as rows let it be so:
constexpr int64_t kElementsPerSimtPartial = 4096;  // more, and shorter, programs
constexpr int64_t kRowsPerPartial = 256;
constexpr int64_t kFewestRowsPerPartial = 8;
constexpr int64_t kElementsPerStep = 1024;

std::vector<size_t> moving_axes(const Shape& shape) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1)) axes.push_back(i);
  }
  return axes;
}

// The full shape, whose first `rows` axes number the rows.
struct RowShape {
  Shape full;
  size_t rows = 0;
};

RowShape row_shape(const Region& region) {
  const Graph& body = region.body();
  Part whole{&body, {}, {}};
  for (uint32_t i = 0; i < body.nodes().size(); ++i) {
    if (body[i].op != Op::input) whole.nodes.push_back(i);
  }
  for (const Output& output : body.outputs) whole.results.insert(output.value);
  const FormOrRefusal form = rows_form(whole, region.facts());
  const RegionForm* rows = std::get_if<RegionForm>(&form);
  WEFT_CHECK(rows != nullptr, "a rows region: " + std::get<Refusal>(form));
  return {region.canonical(rows->space), rows->space.size() - rows->row_axes};
}

class Rows {
 public:
  Rows(Tracer& t, const RowShape& shape) : t_(t), shape_(shape) {
    const bool argmax = std::ranges::any_of(t.region().body().nodes(),
                                            [](const Node& node) { return node.op == Op::argmax; });
    for (size_t i = 0; i < shape.full.size(); ++i) {
      // argmax gives a coordinate: its axis has to be one.
      const Role role = i < shape.rows ? Role::row : Role::column;
      at_.push_back(t.space().direction(shape.full[i], role, 0, role == Role::row || !argmax));
    }
    t.reduce = [this](const Request& request) { return reduce_row(request); };
  }

  void trace() {
    find_columns();
    const std::vector<Space::Group> rows = t_.space().groups(Role::row);
    if (columns_.empty() || rows.empty()) {
      trace_rows(rows);
    } else {
      trace_with_columns(rows);
    }
  }

 private:
  // Of a value that has the full shape, or one element per row.
  Coordinates coordinates(const Shape& shape) const {
    const std::vector<size_t> axes = moving_axes(shape);
    const std::vector<size_t> full = moving_axes(shape_.full);
    const size_t rows = static_cast<size_t>(
        std::ranges::count_if(full, [&](size_t axis) { return axis < shape_.rows; }));
    WEFT_CHECK(axes.size() == full.size() || axes.size() == rows,
               "a value of a rows region has the full shape or one element per row: " + str(shape) +
                   " in " + str(shape_.full));
    Coordinates result(shape.size());
    for (size_t i = 0; i < axes.size(); ++i) result[axes[i]] = at_[full[i]];
    return result;
  }

  bool is_row_axis(const Shape& shape, size_t axis) const {
    const std::vector<size_t> axes = moving_axes(shape);
    const size_t order = static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin());
    return order < axes.size() && moving_axes(shape_.full)[order] < shape_.rows;
  }

  bool reduces_rows(const Node& node) const {
    const Shape in = t_.region().shape(node.operands[0]);
    return std::ranges::any_of(reduced_axes(node), [&](int64_t axis) {
      return is_row_axis(in, static_cast<size_t>(axis));
    });
  }

  ValueId reduce_row(const Request& request) {
    const Node& node = t_.region().body().node(request.value);
    WEFT_CHECK(!reduces_rows(node), "a reduction down the columns is a result");
    const Shape in = t_.region().shape(node.operands[0]);
    const std::vector<int64_t> reduced = reduced_axes(node);
    Coordinates at = coordinates(in);
    size_t next = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const bool gone = std::ranges::count(reduced, static_cast<int64_t>(i)) > 0;
      if (!gone) at[i] = request.at[next];
      if (!gone || node.attrs.boolean("keepdims")) ++next;
    }
    const ValueId value = t_.need(node.operands[0], at, request.where);
    if (value == tile::kNone) return tile::kNone;
    const bool along = std::ranges::any_of(
        reduced, [&](int64_t axis) { return !in[static_cast<size_t>(axis)].is_constant(1); });
    if (node.op == Op::argmax && !along) return t_.b().integer(0, DType::i32);
    if (!along) return value;
    return t_.reduce_over(reduction_of(node.op), value, column_axes_);
  }

  void find_columns() {
    const std::vector<Output>& outputs = t_.region().body().outputs;
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const Node& node = t_.region().body().node(outputs[i].value);
      const bool column = is_reduction(node) && reduces_rows(node);
      if (!column) row_results_.push_back(i);
      if (!column) continue;
      ColumnReduction found;
      found.result = i;
      found.node = &node;
      found.in = coordinates(t_.region().shape(node.operands[0]));
      found.out = after_reduction(node, found.in);
      columns_.push_back(std::move(found));
    }
  }

  // Once the axes are there: which of them a column reduction keeps.
  void place_columns() {
    for (ColumnReduction& column : columns_) {
      const Shape in = t_.region().shape(column.node->operands[0]);
      const std::vector<int64_t> reduced = reduced_axes(*column.node);
      const bool full = moving_axes(in).size() == moving_axes(shape_.full).size();
      const bool all = std::ranges::all_of(moving_axes(in), [&](size_t axis) {
        return std::ranges::count(reduced, static_cast<int64_t>(axis)) > 0;
      });
      column.reduced = full && all ? column_axes_ : std::vector<AxisId>();
      column.kept = full && !all ? column_axes_ : std::vector<AxisId>();
    }
  }

  void store_rows() {
    for (uint32_t result : row_results_) {
      const Value value = t_.region().body().outputs[result].value;
      const Coordinates at = coordinates(t_.region().shape(value));
      t_.store(result, at, t_.at(value, at));
    }
  }

  void trace_rows(const std::vector<Space::Group>& rows) {
    add_to_grid(t_, add_axes(t_, rows, "r",
                             rows.empty() ? Extent() : knob_for(t_, "BR", 1, rows.back().dim)));
    add_column_axes();
    store_rows();
    place_columns();  // of rows that are all one: nothing to put together
    const std::vector<ValueId> sums = add_columns(t_, columns_, {}, {});
    for (size_t i = 0; i < columns_.size(); ++i) {
      t_.store(columns_[i].result, columns_[i].out, sums[i]);
    }
  }

  void add_column_axes() {
    column_axes_ = add_whole_axes(t_, t_.space().groups(Role::column), "c");
  }

  bool is_flat() const { return t_.space().groups(Role::column).empty(); }

  // How many steps along the outermost row axis a program takes.
  int64_t steps_per_program(const std::vector<Space::Group>& rows) const {
    int64_t steps = t_.region().device.simt ? kElementsPerSimtPartial : kElementsPerPartial;
    if (!is_flat()) {
      for (size_t i = shape_.rows; i < shape_.full.size(); ++i) {
        const Dim& columns = shape_.full[i];
        if (columns.is_constant()) steps /= std::max<int64_t>(1, columns.constant());
      }
      steps = std::clamp(steps, kFewestRowsPerPartial, kRowsPerPartial);
    }
    for (size_t i = 1; i < rows.size(); ++i) {
      steps = rows[i].dim.is_constant() ? steps / std::max<int64_t>(1, rows[i].dim.constant()) : 1;
    }
    return std::max<int64_t>(1, steps);
  }

  void trace_with_columns(const std::vector<Space::Group>& rows) {
    const Extent partial = knob_for(t_, "BP", steps_per_program(rows), rows[0].dim, Knob::order);
    const std::string step_name = is_flat() ? "BQ" : "BR";
    const int64_t step_size = is_flat() ? kElementsPerStep : 1;
    const Extent step = knob_for(t_, step_name, step_size, rows.back().dim, Knob::order);
    std::vector<AxisId> axes;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Extent own = i + 1 == rows.size() ? step : Extent::by(1);
      const std::string name = rows.size() == 1 ? "r" : "r" + std::to_string(i);
      axes.push_back(i == 0 ? add_axis(t_, rows[i], name, partial, own)
                            : add_axis(t_, rows[i], name, own));
    }
    t_.b().grid(axes[0]);
    add_column_axes();
    place_columns();
    std::vector<ValueId> carried;
    for (AxisId axis : axes) {
      std::vector<tile::Carry> carries = begin_columns(t_, columns_);
      for (size_t i = 0; i < carried.size(); ++i) carries[i].init = carried[i];
      carried = t_.begin_loop(axis, std::move(carries));
    }
    store_rows();
    std::vector<ValueId> sums = add_columns(t_, columns_, carried, axes);
    for (size_t i = 0; i < axes.size(); ++i) sums = t_.end_loop(std::move(sums));
    accumulate_columns(t_, columns_, sums, axes[0]);
  }

  Tracer& t_;
  const RowShape& shape_;
  Coordinates at_;  // of the full shape
  std::vector<AxisId> column_axes_;
  std::vector<uint32_t> row_results_;
  std::vector<ColumnReduction> columns_;
};

}  // namespace

TracedRegion lower_rows(const Region& region, const std::string& name) {
  const RowShape shape = row_shape(region);
  auto trace = [&](Tracer& t) { Rows(t, shape).trace(); };
  return {{trace_program(region, name, trace)}, {}};
}

}  // namespace weft::lowering
