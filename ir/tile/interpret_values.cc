// The interpreter's values.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ir/oracle/elements.h"
#include "ir/oracle/philox.h"
#include "ir/tile/interpret_machine.h"

namespace weft::tile {

Number identity_of(Reduce reduction, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduce::mul:
    case Reduce::logical_and: return {1, 1};
    case Reduce::max:
    case Reduce::argmax: return {-kInfinity, is_float(dtype) ? 0 : lowest_integer(dtype)};
    case Reduce::min: return {kInfinity, is_float(dtype) ? 0 : highest_integer(dtype)};
    default: return {};
  }
}

Number combine(Reduce reduction, DType dtype, const Number& a, const Number& b) {
  auto wrapped = [&](uint64_t value) { return Number{0, settle(dtype, value)}; };
  const uint64_t x = static_cast<uint64_t>(a.integer);
  const uint64_t y = static_cast<uint64_t>(b.integer);
  const bool real = is_float(dtype);
  switch (reduction) {
    case Reduce::add: return real ? Number{a.real + b.real, 0} : wrapped(x + y);
    case Reduce::mul: return real ? Number{a.real * b.real, 0} : wrapped(x * y);
    case Reduce::max: return {nan_max(a.real, b.real), std::max(a.integer, b.integer)};
    case Reduce::min: return {nan_min(a.real, b.real), std::min(a.integer, b.integer)};
    case Reduce::logical_and: return {0, a.integer != 0 && b.integer != 0};
    case Reduce::logical_or: return {0, a.integer != 0 || b.integer != 0};
    case Reduce::argmax: break;
  }
  WEFT_CHECK(false, "argmax combines indices, not numbers");
  return {};
}

Tensor Machine::empty_tile(const Value& value) const {
  std::vector<int64_t> shape;
  for (AxisId axis : value.axes) shape.push_back(ranges_[axis].size());
  return Tensor::zeros(value.dtype, std::move(shape));
}

Result<const Tensor*> Machine::tile(ValueId id) {
  if (defined_[id]) return &*tiles_[id];
  WEFT_TRY(Tensor computed, compute(program_.values[id]));
  tiles_[id] = std::move(computed);
  return &*tiles_[id];
}

Number Machine::element(ValueId id) const {
  const Tensor& tensor = *tiles_[id];
  size_t at = 0;
  const std::vector<AxisId>& axes = program_.values[id].axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t local = coords_[axes[i]] - ranges_[axes[i]].begin;
    at = at * static_cast<size_t>(tensor.shape[i]) + static_cast<size_t>(local);
  }
  return number_at(tensor, at);
}

std::optional<int64_t> Machine::index(const Index& index) const {
  static const DimBinding kNoSymbols;
  auto atom = [&](const Index::Term& term) -> std::optional<int64_t> {
    switch (term.kind) {
      case Index::Term::axis: return coords_[term.axis_id];
      case Index::Term::base: return ranges_[term.axis_id].begin;
      case Index::Term::end: return ranges_[term.axis_id].end;
      case Index::Term::program: return program_number_[term.axis_id];
      default: return element(term.value_id).integer;
    }
  };
  return evaluate(index, {kNoSymbols, atom});
}

Status Machine::prepare(const Ref& ref, ValueId where) {
  Status status = ok();
  for (const Index& at : ref.at) {
    for_each_term(at, [&](const Index::Term& term) {
      if (term.kind != Index::Term::value || !status.ok()) return;
      if (auto computed = tile(term.value_id); !computed.ok()) {
        status = std::move(computed).take_error();
      }
    });
  }
  if (status.ok() && where != kNone) WEFT_TRY_STATUS(tile(where));
  return status;
}

Result<Tensor> Machine::compute(const Value& value) {
  switch (value.kind) {
    case Value::constant: {
      Tensor result = empty_tile(value);
      set_number(result, 0, {value.number, value.integer});
      return result;
    }
    case Value::coord: return compute_coord(value);
    case Value::load: return compute_load(value);
    case Value::map: return compute_map(value);
    case Value::reduce:
      return value.reduction == Reduce::argmax ? compute_argmax(value) : compute_reduce(value);
    case Value::dot: return compute_dot(value);
    case Value::random: return compute_random(value);
    case Value::carried:
    case Value::result: break;
  }
  WEFT_CHECK(false, "a loop defines what it carries");
  return Tensor();
}

Result<Tensor> Machine::compute_coord(const Value& value) {
  WEFT_TRY_STATUS(prepare({kNone, {value.index}}, kNone));
  Tensor result = empty_tile(value);
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    std::optional<int64_t> at = index(value.index);
    if (!at) return fail("a coordinate overflows");
    if (value.limit && (*at < 0 || *at >= size(*value.limit))) {
      return fail("index ", *at, " is out of range [0, ", size(*value.limit), ")");
    }
    set_number(result, i,
               {static_cast<double>(*at), result.real() ? 0 : wrap_to(value.dtype, *at)});
    return ok();
  }));
  return result;
}

Result<Tensor> Machine::compute_load(const Value& value) {
  WEFT_TRY_STATUS(prepare(value.ref, value.where));
  Tensor result = empty_tile(value);
  const Tensor* from = buffers_[value.ref.buffer].tensor;
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    if (value.where != kNone && element(value.where).integer == 0) {
      set_number(result, i, {value.number, value.integer});
      return ok();
    }
    WEFT_TRY(size_t at, address(value.ref));
    WEFT_TRY_STATUS(note_read(from, at, value.ref));
    set_number(result, i, number_at(*from, at));
    return ok();
  }));
  return result;
}

// By the oracle, on tensors that all have the result's axes, of size 1 where they have none.
Result<Tensor> Machine::compute_map(const Value& value) {
  std::vector<Tensor> operands;
  for (ValueId id : value.operands) {
    WEFT_TRY(const Tensor* operand, tile(id));
    Tensor& aligned = operands.emplace_back(*operand);
    aligned.shape.clear();
    for (AxisId axis : value.axes) {
      bool own = std::ranges::binary_search(program_.values[id].axes, axis);
      aligned.shape.push_back(own ? ranges_[axis].size() : 1);
    }
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& operand : operands) pointers.push_back(&operand);
  Node node;
  node.op = value.op;
  node.types = {Type{value.dtype, {}}};
  const std::vector<std::vector<int64_t>> shapes = {empty_tile(value).shape};
  WEFT_TRY(std::vector<Tensor> results, eval({node, pointers, shapes, {}}));
  return std::move(results[0]);
}

Result<Tensor> Machine::compute_reduce(const Value& value) {
  WEFT_TRY_STATUS(tile(value.operands[0]));
  Tensor result = empty_tile(value);
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    Number total = identity_of(value.reduction, value.dtype);
    WEFT_TRY_STATUS(for_each(value.axes_reduced, [&](size_t) -> Status {
      total = combine(value.reduction, value.dtype, total, element(value.operands[0]));
      return ok();
    }));
    set_number(result, i, total);
    return ok();
  }));
  return result;
}

Result<Tensor> Machine::compute_argmax(const Value& value) {
  WEFT_TRY_STATUS(tile(value.operands[0]));
  const AxisId axis = value.axes_reduced[0];
  const bool real = is_float(program_.values[value.operands[0]].dtype);
  Tensor result = empty_tile(value);
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    if (ranges_[axis].size() == 0)
      return fail("argmax: axis ", program_.axes[axis].name, " is empty");
    std::optional<Number> best;
    WEFT_TRY_STATUS(for_each(value.axes_reduced, [&](size_t) -> Status {
      Number x = element(value.operands[0]);
      bool first = !best || (real ? larger(x.real, best->real) : larger(x.integer, best->integer));
      if (!first) return ok();
      best = x;
      set_number(result, i, {0, coords_[axis]});
      return ok();
    }));
    return ok();
  }));
  return result;
}

Result<Tensor> Machine::compute_dot(const Value& value) {
  for (ValueId operand : value.operands) WEFT_TRY_STATUS(tile(operand));
  Tensor result = empty_tile(value);
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    Number total = value.operands.size() == 3 ? element(value.operands[2]) : Number{};
    WEFT_TRY_STATUS(for_each(value.axes_reduced, [&](size_t) -> Status {
      Number product =
          combine(Reduce::mul, value.dtype, element(value.operands[0]), element(value.operands[1]));
      total = combine(Reduce::add, value.dtype, total, product);
      return ok();
    }));
    set_number(result, i, total);
    return ok();
  }));
  return result;
}

Result<Tensor> Machine::compute_random(const Value& value) {
  WEFT_TRY_STATUS(prepare({kNone, {value.index}}, kNone));
  for (ValueId operand : value.operands) WEFT_TRY_STATUS(tile(operand));
  Tensor result = empty_tile(value);
  WEFT_TRY_STATUS(for_each(value.axes, [&](size_t i) -> Status {
    std::optional<int64_t> at = index(value.index);
    if (!at || *at < 0) return fail("the element number of a random word is out of range");
    RandomBits bits(static_cast<uint32_t>(element(value.operands[0]).integer),
                    static_cast<uint32_t>(element(value.operands[1]).integer),
                    static_cast<uint32_t>(value.stream.constant()));
    set_number(result, i, {0, bits.word(static_cast<uint64_t>(*at))});
    return ok();
  }));
  return result;
}

}  // namespace weft::tile
