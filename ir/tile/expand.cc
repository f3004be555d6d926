// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/expand.h"

#include <algorithm>
#include <limits>

#include "ir/tile/build.h"

namespace weft::tile {
namespace {

DType partial_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

Op combining_op(Reduce reduction) {
  switch (reduction) {
    case Reduce::mul: return Op::mul;
    case Reduce::max: return Op::maximum;
    case Reduce::min: return Op::minimum;
    case Reduce::logical_and: return Op::logical_and;
    case Reduce::logical_or: return Op::logical_or;
    default: return Op::add;
  }
}

ValueId neutral(Builder& b, Reduce reduction, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduce::mul:
    case Reduce::logical_and: return b.constant(1, dtype);
    case Reduce::max: return b.constant(-kInfinity, dtype);  // an integer type takes its lowest
    case Reduce::min: return b.constant(kInfinity, dtype);
    default: return b.constant(0, dtype);
  }
}

// The accumulating statement becomes a store of the program's own partial.
Partial store_partial(Program& program, size_t place) {
  Stmt stmt = program.body[place];
  Buffer& buffer = program.buffers[stmt.ref.buffer];
  Partial partial;
  partial.result = partial.main = stmt.ref.buffer;
  partial.name = buffer.name + ".partial";
  partial.dtype = partial_dtype(buffer.dtype);
  if (partial.dtype != buffer.dtype) {
    Value cast;
    cast.kind = Value::map;
    cast.op = Op::cast;
    cast.dtype = partial.dtype;
    cast.axes = program.values[stmt.value].axes;
    cast.operands = {stmt.value};
    program.values.push_back(std::move(cast));
    stmt.value = static_cast<ValueId>(program.values.size() - 1);
  }
  stmt.kind = Stmt::store;
  stmt.ref.at.insert(stmt.ref.at.begin(), program_index(stmt.axis));
  Shape dims = buffer.dims;
  dims.insert(dims.begin(), program.programs_along(stmt.axis));
  partial.elements = element_count(dims);
  buffer = {partial.name, Buffer::out, partial.dtype, dims, row_major_strides(dims)};
  stmt.axis = kNone;
  stmt.reduction = Reduce::add;
  program.body[place] = std::move(stmt);
  return partial;
}

// Combines partials of one shape [programs, dims..], each program a part of the last dim.
class Finisher {
 public:
  Finisher(const Program& original, std::string name) : original_(original), b_(std::move(name)) {}

  Program run(const std::vector<Stmt>& stmts, std::vector<Partial>& partials) {
    choose_axes(stmts);
    for (size_t i = 0; i < stmts.size(); ++i) declare(stmts[i], partials[i]);
    for (size_t i = 0; i < stmts.size(); ++i) finish(stmts[i], partials[i]);
    b_.set_origin(original_.origin);
    return b_.finish();
  }

 private:
  void declare(const Stmt& stmt, Partial& partial) {
    const Buffer& result = original_.buffers[stmt.ref.buffer];
    const Shape dims = dims_of(stmt);
    std::vector<Dim> strides = result.strides;
    if (strides.size() < dims.size()) strides = {1};
    Shape partial_dims = dims;
    partial_dims.insert(partial_dims.begin(), original_.programs_along(stmt.axis));
    partial.finish_in = b_.in(partial.name, {partial.dtype, partial_dims});
    partial.finish_out = b_.out(result.name, {result.dtype, dims}, strides);
  }

  // Equal shapes share axes. Otherwise there is one axis over the elements of the largest.
  void choose_axes(const std::vector<Stmt>& stmts) {
    shape_ = dims_of(stmts[0]);
    shared_ = std::ranges::all_of(stmts, [&](const Stmt& stmt) { return dims_of(stmt) == shape_; });
    if (!shared_) {
      Dim most = 0;
      for (const Stmt& stmt : stmts) most = Dim::max(most, element_count(dims_of(stmt)));
      shape_ = {most};
    }
    for (size_t i = 0; i < shape_.size(); ++i) {
      bool last = i + 1 == shape_.size();
      AxisId axis =
          b_.axis(last ? "e" : cat("d", i), shape_[i], last ? b_.knob("BE", 64) : Extent::by(1));
      b_.grid(axis);
      at_.push_back(b_.at(axis));
    }
  }

  void finish(const Stmt& stmt, const Partial& partial) {
    const Shape dims = dims_of(stmt);
    std::vector<Index> at = at_;
    ValueId where = kNone;
    if (!shared_) {
      Dim count = element_count(dims);
      where = b_.map(Op::lt, {b_.coord(at_[0], DType::i64), b_.dim(count, DType::i64)});
      at = unflatten(dims);
    }
    AxisId p = b_.axis("p", original_.programs_along(stmt.axis), Extent::by(1));
    std::vector<AxisId> axes;
    for (const Index& index : at_) axes = unite(axes, axes_of(b_.program(), index));
    ValueId total =
        b_.loop(p, {{neutral(b_, stmt.reduction, partial.dtype), axes}},
                [&](std::span<const ValueId> carried) {
                  std::vector<Index> place = at;
                  place.insert(place.begin(), b_.at(p));
                  ValueId next = where == kNone ? b_.load(partial.finish_in, place)
                                                : b_.load(partial.finish_in, place, where);
                  return std::vector{b_.map(combining_op(stmt.reduction), {carried[0], next})};
                })[0];
    b_.store(partial.finish_out, at, b_.cast(total, b_.buffer(partial.finish_out).dtype), where);
  }

  // The coordinates of element number e of a tensor of these dims.
  std::vector<Index> unflatten(const Shape& dims) const {
    std::vector<Dim> strides = row_major_strides(dims);
    std::vector<Index> at;
    for (size_t i = 0; i < dims.size(); ++i) {
      Index quotient = b_.floor_div(at_[0], strides[i]);
      at.push_back(i == 0 ? quotient : b_.mod(quotient, dims[i]));
    }
    return at;
  }

  // Among other shapes a scalar is a vector of one, so that one coordinate alone owns it.
  Shape dims_of(const Stmt& stmt) const {
    const Shape& dims = original_.buffers[stmt.ref.buffer].dims;
    return !shared_ && dims.empty() ? Shape{1} : dims;
  }

  const Program& original_;
  Builder b_;
  Shape shape_;
  bool shared_ = true;
  std::vector<Index> at_;
};

}  // namespace

Expanded expand_accumulate(const Program& program) {
  Expanded expanded;
  Program main = program;
  std::vector<Stmt> stmts;
  for (size_t i = 0; i < main.body.size(); ++i) {
    if (main.body[i].kind != Stmt::accumulate) continue;
    stmts.push_back(main.body[i]);
    expanded.partials.push_back(store_partial(main, i));
  }
  if (stmts.empty()) {
    expanded.programs.push_back(program);
    return expanded;
  }
  tidy(main);
  expanded.programs.push_back(std::move(main));
  Finisher finisher(program, program.name + "_finish");
  expanded.programs.push_back(finisher.run(stmts, expanded.partials));
  return expanded;
}

}  // namespace weft::tile
