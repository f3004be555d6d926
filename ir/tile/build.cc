// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/build.h"

#include <algorithm>

#include "ir/graph/infer.h"
#include "ir/support/check.h"

namespace weft::tile {
namespace {

std::vector<AxisId> without(const std::vector<AxisId>& axes, const std::vector<AxisId>& removed) {
  std::vector<AxisId> rest;
  std::ranges::set_difference(axes, removed, std::back_inserter(rest));
  return rest;
}

void set_number(Value& value, double number) {
  if (is_float(value.dtype)) {
    value.number = round_to(value.dtype, number);
  } else {
    value.integer = to_integer(value.dtype, number);
  }
}

}  // namespace

Result<DType> map_dtype(Op op, std::span<const DType> operands, const Loc& loc) {
  if (!info(op).has(kElementwise) || info(op).composite() || op == Op::cast) {
    return error(loc, name(op), ": not an elementwise primitive")
        .hint(info(op).composite() ? "write what it decomposes to" : "");
  }
  std::vector<Type> types;
  for (DType dtype : operands) types.push_back({dtype, {}});
  const Attrs attrs;
  const DimFacts facts;
  WEFT_TRY(std::vector<Type> results, infer_types({.op = op,
                                                   .operands = types,
                                                   .attrs = attrs,
                                                   .facts = facts,
                                                   .loc = loc,
                                                   .operand_locs = {}}));
  return results[0].dtype;
}

Extent Builder::knob(std::string name, int64_t value, Knob::Kind kind,
                     std::vector<int64_t> choices) {
  program_.knobs.push_back({kind, std::move(name), value, {}, std::move(choices)});
  return {Extent::knob, 0, static_cast<uint32_t>(program_.knobs.size() - 1)};
}

AxisId Builder::axis(std::string name, Dim dim, Extent extent, std::optional<Extent> inner) {
  program_.axes.push_back({std::move(name), std::move(dim), extent, inner});
  return static_cast<AxisId>(program_.axes.size() - 1);
}

BufferId Builder::add_buffer(Buffer::Mode mode, std::string name, const Type& type,
                             std::optional<std::vector<Dim>> strides) {
  if (!strides) strides = row_major_strides(type.shape);
  WEFT_CHECK(strides->size() == type.rank(), "a buffer has one stride per dim: " + name);
  program_.buffers.push_back({std::move(name), mode, type.dtype, type.shape, *std::move(strides)});
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::in(std::string name, const Type& type, std::optional<std::vector<Dim>> strides) {
  return add_buffer(Buffer::in, std::move(name), type, std::move(strides));
}

BufferId Builder::out(std::string name, const Type& type, std::optional<std::vector<Dim>> strides) {
  return add_buffer(Buffer::out, std::move(name), type, std::move(strides));
}

BufferId Builder::inout(std::string name, const Type& type,
                        std::optional<std::vector<Dim>> strides) {
  return add_buffer(Buffer::inout, std::move(name), type, std::move(strides));
}

Index Builder::floor_div(const Index& a, const Dim& divisor) const {
  return tile::floor_div(program_, a, divisor);
}

Index Builder::mod(const Index& a, const Dim& divisor) const {
  return tile::mod(program_, a, divisor);
}

ValueId Builder::add_bare(Value value) {
  program_.values.push_back(std::move(value));
  return static_cast<ValueId>(program_.values.size() - 1);
}

ValueId Builder::add(Value value) {
  Stmt let;
  let.value = add_bare(std::move(value));
  blocks_.back().push_back(let);
  return let.value;
}

ValueId Builder::constant(double value, DType dtype) {
  Value made{.dtype = dtype};
  set_number(made, value);
  return add(std::move(made));
}

ValueId Builder::integer(int64_t value, DType dtype) {
  WEFT_CHECK(!is_float(dtype), "integer() makes integers and bools");
  return add({.dtype = dtype, .integer = wrap_to(dtype, value)});
}

ValueId Builder::coord(Index index, DType dtype) {
  Value made{.kind = Value::coord, .dtype = dtype, .axes = axes_of(program_, index)};
  made.index = std::move(index);
  return add(std::move(made));
}

ValueId Builder::checked(ValueId number, Dim limit) {
  Value made{.kind = Value::coord, .dtype = dtype(number), .axes = axes(number)};
  made.index = value_index(number);
  made.limit = std::move(limit);
  return add(std::move(made));
}

void Builder::check_ref(const Ref& ref) const {
  WEFT_CHECK(ref.buffer < program_.buffers.size(), "a reference to a buffer of the program");
  const Buffer& buffer = program_.buffers[ref.buffer];
  WEFT_CHECK(ref.at.size() == buffer.dims.size(), "one index per dim of buffer " + buffer.name);
}

ValueId Builder::load(BufferId buffer, std::vector<Index> at) {
  return load(buffer, std::move(at), kNone);
}

ValueId Builder::load(BufferId buffer, std::vector<Index> at, ValueId where, double fill) {
  Value made{.kind = Value::load};
  made.ref = {buffer, std::move(at)};
  check_ref(made.ref);
  made.dtype = program_.buffers[buffer].dtype;
  made.axes = axes_of(program_, made.ref);
  if (where != kNone) {
    WEFT_CHECK(dtype(where) == DType::boolean, "a predicate is bool");
    made.axes = unite(made.axes, axes(where));
    made.where = where;
    set_number(made, fill);
  }
  return add(std::move(made));
}

ValueId Builder::map(Op op, std::vector<ValueId> operands) {
  Value made{.kind = Value::map, .op = op};
  std::vector<DType> dtypes;
  for (ValueId operand : operands) {
    dtypes.push_back(dtype(operand));
    made.axes = unite(made.axes, axes(operand));
  }
  made.dtype = map_dtype(op, dtypes).value();
  made.operands = std::move(operands);
  return add(std::move(made));
}

ValueId Builder::cast(ValueId operand, DType to) {
  if (dtype(operand) == to) return operand;
  return add_cast(operand, to);
}

ValueId Builder::rounded(ValueId operand) {
  const bool exact = !is_float(dtype(operand)) || dtype(operand) == DType::f64;
  return exact ? operand : add_cast(operand, dtype(operand));
}

ValueId Builder::add_cast(ValueId operand, DType to) {
  return add({.kind = Value::map,
              .dtype = to,
              .axes = axes(operand),
              .operands = {operand},
              .op = Op::cast});
}

ValueId Builder::reduce(Reduce reduction, ValueId operand, std::vector<AxisId> reduced) {
  std::ranges::sort(reduced);
  WEFT_CHECK(std::ranges::includes(axes(operand), reduced), "a reduction along axes of its tile");
  Value made{.kind = Value::reduce, .dtype = dtype(operand), .operands = {operand}};
  if (reduction == Reduce::argmax) {
    WEFT_CHECK(reduced.size() == 1, "argmax runs along one axis");
    made.dtype = DType::i32;
  }
  made.axes = without(axes(operand), reduced);
  made.reduction = reduction;
  made.axes_reduced = std::move(reduced);
  return add(std::move(made));
}

ValueId Builder::dot(AxisId k, ValueId a, ValueId b, ValueId acc) {
  WEFT_CHECK(dtype(a) == dtype(b), "dot: operands of one element type");
  Value made{.kind = Value::dot, .dtype = dtype(a), .operands = {a, b}, .axes_reduced = {k}};
  made.axes = without(unite(axes(a), axes(b)), {k});
  if (acc != kNone) {
    WEFT_CHECK(dtype(acc) == dtype(a), "dot: an accumulator of the operands' element type");
    WEFT_CHECK(std::ranges::includes(made.axes, axes(acc)), "dot: an accumulator within its axes");
    made.operands.push_back(acc);
  }
  return add(std::move(made));
}

ValueId Builder::random(ValueId seed, ValueId step, Dim stream, Index element) {
  WEFT_CHECK(dtype(seed) == DType::u32 && dtype(step) == DType::u32, "seed and step are u32");
  Value made{.kind = Value::random, .dtype = DType::u32, .operands = {seed, step}};
  made.axes = unite(unite(axes(seed), axes(step)), axes_of(program_, element));
  made.index = std::move(element);
  made.stream = std::move(stream);
  return add(std::move(made));
}

Stmt Builder::effect(Stmt::Kind kind, BufferId buffer, std::vector<Index> at, ValueId value,
                     ValueId where) const {
  Stmt stmt;
  stmt.kind = kind;
  stmt.value = value;
  stmt.where = where;
  stmt.ref = {buffer, std::move(at)};
  check_ref(stmt.ref);
  WEFT_CHECK(dtype(value) == program_.buffers[buffer].dtype,
             "a value of the element type of buffer " + program_.buffers[buffer].name);
  return stmt;
}

void Builder::store(BufferId buffer, std::vector<Index> at, ValueId value, ValueId where) {
  blocks_.back().push_back(effect(Stmt::store, buffer, std::move(at), value, where));
}

void Builder::update(BufferId buffer, std::vector<Index> at, ValueId value, ValueId where) {
  blocks_.back().push_back(effect(Stmt::update, buffer, std::move(at), value, where));
}

void Builder::accumulate(BufferId buffer, std::vector<Index> at, ValueId value, AxisId over,
                         Reduce reduction) {
  Stmt stmt = effect(Stmt::accumulate, buffer, std::move(at), value, kNone);
  stmt.axis = over;
  stmt.reduction = reduction;
  blocks_.back().push_back(std::move(stmt));
}

void Builder::scatter(BufferId buffer, std::vector<Index> at, ValueId value, AxisId order,
                      bool adds, ValueId where) {
  Stmt stmt = effect(Stmt::scatter, buffer, std::move(at), value, where);
  stmt.axis = order;
  stmt.adds = adds;
  blocks_.back().push_back(std::move(stmt));
}

}  // namespace weft::tile
