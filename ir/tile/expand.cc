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
  Finisher(const Program& original, const Shape& shape, std::string name)
      : original_(original), b_(std::move(name)) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool last = i + 1 == shape.size();
      const AxisId axis =
          b_.axis(last ? "e" : cat("d", i), shape[i], last ? b_.knob("BE", 64) : Extent::by(1));
      b_.grid(axis);
      at_.push_back(b_.at(axis));
      axes_ = unite(axes_, axes_of(b_.program(), at_.back()));
    }
  }

  void declare(const Stmt& stmt, Partial& partial) {
    const Buffer& result = original_.buffers[stmt.ref.buffer];
    Shape partial_dims = result.dims;
    partial_dims.insert(partial_dims.begin(), original_.programs_along(stmt.axis));
    partial.finish_in = b_.in(partial.name, {partial.dtype, partial_dims});
    partial.finish_out = b_.out(result.name, {result.dtype, result.dims}, result.strides);
  }

  void combine(const Stmt& stmt, const Partial& partial) {
    const AxisId p = b_.axis("p", original_.programs_along(stmt.axis), Extent::by(1));
    const ValueId total =
        b_.loop(p, {{neutral(b_, stmt.reduction, partial.dtype), axes_}},
                [&](std::span<const ValueId> carried) {
                  std::vector<Index> place = at_;
                  place.insert(place.begin(), b_.at(p));
                  const ValueId next = b_.load(partial.finish_in, place);
                  return std::vector{b_.map(combining_op(stmt.reduction), {carried[0], next})};
                })[0];
    b_.store(partial.finish_out, at_, b_.cast(total, b_.buffer(partial.finish_out).dtype));
  }

  Program run() {
    b_.set_origin(original_.origin);
    return b_.finish();
  }

 private:
  const Program& original_;
  Builder b_;
  std::vector<AxisId> axes_;  // of results: those with more than one coordinate in a program
  std::vector<Index> at_;
};

// One program for each shape, in the order of their first results.
void add_finishers(const Program& program, const std::vector<Stmt>& stmts, Expanded& expanded) {
  auto shape_of = [&](size_t i) -> const Shape& {
    return program.buffers[stmts[i].ref.buffer].dims;
  };
  std::vector<bool> done(stmts.size());
  for (size_t first = 0; first < stmts.size(); ++first) {
    if (done[first]) continue;
    const size_t number = expanded.programs.size();
    const std::string suffix = number == 1 ? "_finish" : cat("_finish", number);
    Finisher finisher(program, shape_of(first), program.name + suffix);
    std::vector<size_t> together;
    for (size_t i = first; i < stmts.size(); ++i) {
      if (shape_of(i) == shape_of(first)) together.push_back(i);
    }
    for (size_t i : together) {
      done[i] = true;
      expanded.partials[i].program = number;
      finisher.declare(stmts[i], expanded.partials[i]);
    }
    for (size_t i : together) finisher.combine(stmts[i], expanded.partials[i]);
    expanded.programs.push_back(finisher.run());
  }
}

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
  add_finishers(program, stmts, expanded);
  return expanded;
}

}  // namespace weft::tile
