// The verifier: values and indices.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/tile/build.h"
#include "ir/tile/verify_state.h"

namespace weft::tile {

bool Verifier::check_use(ValueId id) {
  if (id >= program_.values.size()) {
    fail("", "an unknown value is used");
    return false;
  }
  switch (seen_[id]) {
    case Seen::defined: return true;
    case Seen::gone: fail("", "a value is used outside of the block that defines it"); return false;
    case Seen::nested:
      fail("define it with a line of its own", "a value without a name is used twice");
      return false;
    case Seen::no: break;
  }
  seen_[id] = Seen::nested;
  return check_value(id);
}

bool Verifier::check_axis_use(AxisId id, Index::Term::Kind kind) {
  if (id >= program_.axes.size()) {
    fail("", "an unknown axis is used");
    return false;
  }
  const Axis& axis = program_.axes[id];
  bool in_grid = program_.in_grid(id);
  bool known = loops_.contains(id) || (in_grid ? !axis.inner : axis.extent.kind == Extent::whole);
  if (kind == Index::Term::program) known = in_grid;
  if (kind == Index::Term::base || kind == Index::Term::end) known = known || in_grid;
  if (!known) {
    fail(cat("put it into a loop along ", axis.name), "axis ", axis.name,
         " is used where nothing walks it");
  }
  return known;
}

bool Verifier::check_index(const Index& index) {
  bool fine = true;
  for_each_term(index, [&](const Index::Term& term) {
    if (!fine) return;
    if (term.scale.overflowed() || term.divisor.overflowed()) {
      fail("", "a number in an index is too large");
      fine = false;
    } else if (term.kind == Index::Term::value) {
      bool defined =
          term.value_id < program_.values.size() && seen_[term.value_id] == Seen::defined;
      if (!defined) {
        fail("define it with a line of its own",
             "an index uses a value that no line around defines");
      } else if (!is_integer(value(term.value_id).dtype)) {
        fail("", "an index uses a value of type ", name(value(term.value_id).dtype),
             ", which is no integer");
      }
      fine = defined;
    } else if (term.inner.empty()) {
      fine = check_axis_use(term.axis_id, term.kind);
    } else if (term.divisor.is_constant() && term.divisor.constant() < 1) {
      fail("", "an index is divided by ", term.divisor);
      fine = false;
    }
  });
  if (fine && index.offset.overflowed()) fail("", "a number in an index is too large");
  return fine;
}

bool Verifier::check_ref(const Ref& ref) {
  if (ref.buffer >= program_.buffers.size()) {
    fail("", "an unknown buffer is used");
    return false;
  }
  const Buffer& buffer = program_.buffers[ref.buffer];
  if (ref.at.size() != buffer.dims.size()) {
    fail("", "%", buffer.name, " has ", buffer.dims.size(), " dims and is used with ",
         ref.at.size(), " indices");
    return false;
  }
  return std::ranges::all_of(ref.at, [&](const Index& index) { return check_index(index); });
}

bool Verifier::check_where(ValueId where) {
  if (where == kNone) return true;
  if (!check_use(where)) return false;
  if (value(where).dtype == DType::boolean) return true;
  fail("compare it: ne(x, 0)", "a predicate has type ", name(value(where).dtype), ", not bool");
  return false;
}

void Verifier::check_type(const Value& value, DType dtype, const std::vector<AxisId>& axes) {
  if (value.dtype == dtype && value.axes == axes) return;
  fail("", "a value is declared ", name(value.dtype), names(value.axes), ", but is ", name(dtype),
       names(axes));
}

bool Verifier::check_value(ValueId id) {
  const Value& made = value(id);
  for (AxisId axis : made.axes) {
    if (axis >= program_.axes.size()) {
      fail("", "an unknown axis is used");
      return false;
    }
  }
  for (ValueId operand : made.operands) {
    if (!check_use(operand)) return false;
  }
  switch (made.kind) {
    case Value::constant: check_type(made, made.dtype, {}); break;
    case Value::coord:
      if (!check_index(made.index)) return false;
      if (made.limit && made.limit->overflowed())
        fail("", "the limit of a coordinate is too large");
      if (made.dtype == DType::boolean) fail("", "a coordinate is a number, not bool");
      check_type(made, made.dtype, axes_of(program_, made.index));
      break;
    case Value::load: check_load(made); break;
    case Value::map: check_map(made); break;
    case Value::reduce: check_reduce(made); break;
    case Value::dot: check_dot(made); break;
    case Value::random: check_random(made); break;
    case Value::carried:
    case Value::result: fail("", "what a loop carries is used outside of it"); return false;
  }
  return true;
}

void Verifier::check_load(const Value& load) {
  if (!check_ref(load.ref) || !check_where(load.where)) return;
  loads_[load.ref.buffer].push_back(load.ref);
  std::vector<AxisId> axes = axes_of(program_, load.ref);
  if (load.where != kNone) axes = unite(axes, value(load.where).axes);
  check_type(load, program_.buffers[load.ref.buffer].dtype, axes);
}

void Verifier::check_map(const Value& map) {
  std::vector<DType> dtypes;
  std::vector<AxisId> axes;
  for (ValueId operand : map.operands) {
    dtypes.push_back(value(operand).dtype);
    axes = unite(axes, value(operand).axes);
  }
  if (map.op == Op::cast) {
    if (map.operands.size() != 1) return fail("", "cast takes one operand");
    return check_type(map, map.dtype, axes);
  }
  Result<DType> dtype = map_dtype(map.op, dtypes);
  if (dtype.ok()) return check_type(map, *dtype, axes);
  for (const Diagnostic& diagnostic : dtype.diagnostics())
    fail(diagnostic.hint, diagnostic.message);
}

void Verifier::check_reduce(const Value& reduce) {
  if (reduce.operands.size() != 1) return fail("", "a reduction takes one operand");
  const Value& operand = value(reduce.operands[0]);
  const std::vector<AxisId>& reduced = reduce.axes_reduced;
  bool set = std::ranges::adjacent_find(reduced, std::greater_equal<>()) == reduced.end();
  if (reduced.empty() || !set || !std::ranges::includes(operand.axes, reduced)) {
    return fail("", "a tile with the axes ", names(operand.axes), " is reduced along others");
  }
  bool logical = reduce.reduction == Reduce::logical_and || reduce.reduction == Reduce::logical_or;
  if (logical != (operand.dtype == DType::boolean)) {
    return fail("", "reduce.", name(reduce.reduction), " of ", name(operand.dtype));
  }
  bool argmax = reduce.reduction == Reduce::argmax;
  if (argmax && reduced.size() != 1) return fail("", "reduce.argmax runs along one axis");
  std::vector<AxisId> rest;
  std::ranges::set_difference(operand.axes, reduced, std::back_inserter(rest));
  check_type(reduce, argmax ? DType::i32 : operand.dtype, rest);
}

void Verifier::check_dot(const Value& dot) {
  if (dot.operands.size() < 2 || dot.operands.size() > 3 || dot.axes_reduced.size() != 1) {
    return fail("", "dot takes two operands, perhaps an accumulator, and one axis");
  }
  const Value& a = value(dot.operands[0]);
  const Value& b = value(dot.operands[1]);
  std::vector<AxisId> shared, axes;
  std::ranges::set_intersection(a.axes, b.axes, std::back_inserter(shared));
  std::ranges::set_symmetric_difference(a.axes, b.axes, std::back_inserter(axes));
  if (shared != dot.axes_reduced) {
    return fail("take axes of a batch by 1", "the operands of dot share the axes ", names(shared),
                ", and it contracts ", names(dot.axes_reduced));
  }
  if (a.dtype != b.dtype || a.dtype == DType::boolean) {
    return fail("cast one of them", "dot of ", name(a.dtype), " and ", name(b.dtype));
  }
  if (dot.operands.size() == 3) {
    const Value& acc = value(dot.operands[2]);
    if (acc.dtype != a.dtype || !std::ranges::includes(axes, acc.axes)) {
      fail("", "dot gives ", name(a.dtype), names(axes), ", its accumulator is ", name(acc.dtype),
           names(acc.axes));
    }
  }
  check_type(dot, a.dtype, axes);
}

void Verifier::check_random(const Value& random) {
  if (random.operands.size() != 2 || !check_index(random.index)) {
    return fail("", "random takes seed, step and an element number");
  }
  for (ValueId operand : random.operands) {
    if (value(operand).dtype == DType::u32 && value(operand).axes.empty()) continue;
    fail("", "seed and step of random are u32[], not ", name(value(operand).dtype),
         names(value(operand).axes));
  }
  check_type(random, DType::u32, axes_of(program_, random.index));
}

}  // namespace weft::tile
