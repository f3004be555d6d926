// Rules of `simplify` for logic, comparisons and select.
// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

// The bound value, stretched to the root's shape.
Action stretch(Slot var) {
  return [var](Match& m) { return m.out.broadcast_to(m[var], m.shape()); };
}

// A comparison of a value with itself, where there is no NaN.
Action decide_self(bool equal) {
  return [equal](Match& m) -> std::optional<Value> {
    if (is_float(m.type(x).dtype)) return std::nullopt;
    return m.full(equal ? 1 : 0);
  };
}

Action if_bool(Action action) {
  return [action = std::move(action)](Match& m) {
    return m.type(x).dtype == DType::boolean ? action(m) : std::nullopt;
  };
}

std::optional<Value> condition_as_number(Match& m) {
  return m.out.cast({m[x]}, {{"dtype", m.dtype()}});
}

}  // namespace

std::span<const Rule> logic_rules() {
  static const std::vector<Op> kBothOrOne = {Op::logical_and, Op::logical_or};
  static const std::vector<Op> kReflexive = {Op::eq, Op::le};
  static const std::vector<Op> kIrreflexive = {Op::ne, Op::lt};
  static const std::vector<Rule> kRules = {
      {"and-true", logical_and(x, lit(1)), take(x)},
      {"and-false", logical_and(x, lit(0)), fill(0)},
      {"or-false", logical_or(x, lit(0)), take(x)},
      {"or-true", logical_or(x, lit(1)), fill(1)},
      {"xor-false", logical_xor(x, lit(0)), take(x)},
      {"xor-true", logical_xor(x, lit(1)), build(logical_not(x))},
      {"xor-self", logical_xor(x, x), fill(0)},
      {"and-or-self", any_of(kBothOrOne, {x, x}), take(x)},
      {"not-not", logical_not(logical_not(x)), take(x)},
      {"not-eq", logical_not(eq(x, y)), build(ne(x, y))},
      {"not-ne", logical_not(ne(x, y)), build(eq(x, y))},
      {"eq-true", eq(x, lit(1)), if_bool(take(x))},
      {"eq-false", eq(x, lit(0)), if_bool(build(logical_not(x)))},
      {"ne-false", ne(x, lit(0)), if_bool(take(x))},
      {"ne-true", ne(x, lit(1)), if_bool(build(logical_not(x)))},
      {"reflexive-self", any_of(kReflexive, {x, x}), decide_self(true), kExact,
       "not for floats: NaN equals nothing"},
      {"irreflexive-self", any_of(kIrreflexive, {x, x}), decide_self(false), kExact,
       "not for floats: NaN differs from itself"},
      {"select-true", select(lit(1), x, y), stretch(x)},
      {"select-false", select(lit(0), x, y), stretch(y)},
      {"select-same", select(c, x, x), stretch(x)},
      {"select-one-zero", select(x, lit(1), lit(0)), condition_as_number, kSignedZero,
       "a -0 becomes 0"},
      {"select-zero-one", select(x, lit(0), lit(1)),
       [](Match& m) { return m.out.cast_to(m.out.logical_not({m[x]}), m.dtype()); }, kSignedZero,
       "a -0 becomes 0"},
      {"select-not", select(logical_not(c), x, y), build(select(c, y, x))},
      {"select-select-true", select(c, select(c, x, y), z), build(select(c, x, z))},
      {"select-select-false", select(c, x, select(c, y, z)), build(select(c, x, z))},
  };
  return kRules;
}

}  // namespace weft
