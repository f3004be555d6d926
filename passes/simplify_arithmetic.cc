// Rules of `simplify` for sums, products, quotients, signs and extrema.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

bool power_of_two(double value) {
  int exponent = 0;
  return std::isfinite(value) && std::abs(std::frexp(value, &exponent)) == 0.5;
}

bool representable(double value, DType dtype) {
  return std::isfinite(value) && round_to(dtype, value) == value;
}

Action for_integers(Action action) {
  return [action = std::move(action)](Match& m) {
    return is_integer(m.dtype()) ? action(m) : std::nullopt;
  };
}

// The constant bound to c, negated at once: as a `neg` that is folded later it would match rules
// for `neg` first. Nothing for numbers that a double does not hold, and for unsigned ones: x - 1
// reads better than x + 4294967295.
std::optional<Value> negated_constant(Match& m) {
  double number = m.number(c);
  if (is_float(m.dtype())) return m.scalar(-number);
  if (!is_signed_integer(m.dtype()) || std::abs(number) >= 0x1p53) return std::nullopt;
  return m.scalar(static_cast<double>(wrap_to(m.dtype(), -static_cast<int64_t>(number))));
}

// x op -c
Action with_negated(Op op) {
  return [op](Match& m) -> std::optional<Value> {
    std::optional<Value> negated = negated_constant(m);
    return negated ? m.emit(op, {m[x], *negated}) : std::nullopt;
  };
}

// x / c = x * (1 / c), where that is exact.
std::optional<Value> multiply_by_inverse(Match& m) {
  double inverse = 1 / m.number(c);
  if (!power_of_two(m.number(c)) || !representable(inverse, m.dtype())) return std::nullopt;
  return m.out.mul({m[x], m.scalar(inverse)});
}

std::optional<Value> multiply_by_rounded_inverse(Match& m) {
  return m.out.mul({m[x], m.scalar(1 / m.number(c))});
}

// (x * c) * d = x * (c * d) to the last bit, if scaling by one of the two loses no digit and
// neither overflows where the product does not.
std::optional<Value> join_factors(Match& m) {
  if (is_integer(m.dtype())) return m.build(mul(x, mul(c, d)));
  double first = m.number(c);
  double second = m.number(d);
  bool same_way = (std::abs(first) >= 1) == (std::abs(second) >= 1);
  bool exact = power_of_two(first) || power_of_two(second);
  // A subnormal product has lost digits; scaling x in two steps need not.
  bool normal = std::isnormal(first * second) && representable(first * second, m.dtype());
  if (!same_way || !exact || !normal) return std::nullopt;
  return m.out.mul({m[x], m.scalar(first * second)});
}

std::optional<Value> no_bound(Match& m) {
  bool upper = m.root.op == Op::minimum;
  double neutral =
      upper ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (is_integer(m.dtype())) {
    neutral = static_cast<double>(upper ? highest_integer(m.dtype()) : lowest_integer(m.dtype()));
    if (byte_size(m.dtype()) == 8) return std::nullopt;  // not exactly a double
  }
  return m.number(c) == neutral ? std::optional(m[x]) : std::nullopt;
}

std::optional<Value> join_clamps(Match& m) {
  const Node inner = m.node(t);
  double low = std::max(inner.attrs.real("min"), m.root.attrs.real("min"));
  double high = std::min(inner.attrs.real("max"), m.root.attrs.real("max"));
  if (!(low <= high)) return std::nullopt;
  return m.out.clamp({m[x]}, {{"min", low}, {"max", high}});
}

// f(f(x)) = f(x)
std::optional<Value> once_is_enough(Match& m) {
  return m.node(t).op == m.root.op ? std::optional(m[t]) : std::nullopt;
}

}  // namespace

std::span<const Rule> arithmetic_rules() {
  static const std::vector<Op> kIdempotent = {Op::abs, Op::sign, Op::relu};
  static const std::vector<Op> kToWhole = {Op::floor, Op::ceil, Op::round};
  static const std::vector<Op> kExtrema = {Op::minimum, Op::maximum};
  static const std::vector<Rule> kRules = {
      {"add-zero", add(x, lit(0)), take(x), kSignedZero, "-0 + 0 is 0, but becomes -0"},
      {"sub-zero", sub(x, lit(0)), take(x), kSignedZero, "-0 - -0 is 0, but becomes -0"},
      {"zero-sub", sub(lit(0), x), build(neg(x)), kSignedZero, "0 - 0 is 0, but becomes -0"},
      {"mul-one", mul(x, lit(1)), take(x)},
      {"div-one", div(x, lit(1)), take(x)},
      {"floordiv-one", floordiv(x, lit(1)), take(x)},
      {"mod-one", mod(x, lit(1)), for_integers(fill(0))},
      {"mul-minus-one", mul(x, lit(-1)), build(neg(x))},
      {"div-minus-one", div(x, lit(-1)), build(neg(x))},
      {"sub-self", sub(x, x), for_integers(fill(0))},
      {"sub-self-float", sub(x, x), fill(0), kFastMath, "NaN - NaN and inf - inf are NaN"},
      {"div-self", div(x, x), fill(1), kFastMath, "0 / 0, inf / inf and NaN / NaN are NaN"},
      {"mul-zero", mul(x, lit(0)), for_integers(fill(0))},
      {"mul-zero-float", mul(x, lit(0)), fill(0), kFastMath,
       "NaN * 0 and inf * 0 are NaN, a negative number times 0 is -0"},
      {"neg-neg", neg(neg(x)), take(x)},
      {"neg-sub", neg(sub(x, y)), build(sub(y, x)), kSignedZero, "-(x - x) is -0, but becomes 0"},
      {"add-neg", add(x, neg(y)), build(sub(x, y))},
      {"sub-neg", sub(x, neg(y)), build(add(x, y))},
      {"mul-neg-neg", mul(neg(x), neg(y)), build(mul(x, y))},
      {"div-neg-neg", div(neg(x), neg(y)), build(div(x, y))},
      {"mul-neg-constant", mul(neg(x), con(c)), with_negated(Op::mul)},
      {"neg-mul-constant", neg(mul(x, con(c))), with_negated(Op::mul)},
      {"sub-constant", sub(x, con(c)), with_negated(Op::add)},
      {"add-add-constant", add(add(x, con(c)), con(d)), for_integers(build(add(x, add(c, d))))},
      {"add-add-constant-float", add(add(x, con(c)), con(d)), build(add(x, add(c, d))), kFastMath,
       "x + c may overflow or swallow x"},
      {"mul-mul-constant", mul(mul(x, con(c)), con(d)), join_factors, kRounding,
       "exact, except that a product too small for a normal number may differ in its last bit"},
      {"mul-mul-constant-float", mul(mul(x, con(c)), con(d)), build(mul(x, mul(c, d))), kFastMath,
       "x * c may overflow or vanish where x * (c * d) does not"},
      {"div-power-of-two", div(x, con(c)), multiply_by_inverse},
      {"div-constant", div(x, con(c)), multiply_by_rounded_inverse, kFastMath,
       "1 / c is rounded, and may overflow"},
      {"idempotent", any_of(kIdempotent, {any_of(kIdempotent).as(t)}), once_is_enough},
      {"round-rounded", any_of(kToWhole, {any_of(kToWhole).as(t)}), take(t)},
      {"abs-neg", abs(neg(x)), build(abs(x))},
      {"extremum-self", any_of(kExtrema, {x, x}), take(x)},
      {"extremum-neutral", any_of(kExtrema, {x, con(c)}), no_bound},
      {"clamp-clamp", clamp(clamp(x).as(t)), join_clamps},
  };
  return kRules;
}

}  // namespace weft
