// Random elementwise ops: arithmetic, functions, comparisons and logic.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/graph_maker.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A function without kinks that does not grow: of any float.
void make_smooth(GraphMaker& m, Op op, double bound, Attrs attrs = {}) {
  Value in = m.any(kFloat);
  m.emit(op, {in}, std::move(attrs), std::min(bound, m.bound(in) + 1));
}

void make_bounded(GraphMaker& m, Op op) { m.emit(op, {m.any(kFloat)}, {}, 1); }

// The bound of a computed float; integers have that of their type.
std::optional<double> real_bound(const GraphMaker& m, Value value, double bound) {
  return m.is_real(value) ? std::optional(bound) : std::nullopt;
}

Value make_kinked(GraphMaker& m, Op op, DTypeSet set) {
  Value in = m.off_edges(m.any(set));
  return m.emit(op, {in}, {}, real_bound(m, in, m.bound(in) + 1));
}

// Away from the steps the result is a whole number, whatever the operand's last bits are.
void make_stepped(GraphMaker& m, Op op, DTypeSet set) {
  m.fact(make_kinked(m, op, set)).exact = true;
}

void make_compared(GraphMaker& m, Op op, DTypeSet set) {
  auto [lhs, rhs] = m.pair(set);
  m.emit(op, {m.off_edges(lhs), rhs}, {}, 1);
}

void make_logical(GraphMaker& m, Op op) {
  auto [lhs, rhs] = m.pair(kBool);
  m.emit(op, {lhs, rhs}, {}, 1);
}

// A base that may be negative, with an exponent that is a whole number.
void make_whole_power(GraphMaker& m) {
  Value base = m.any(kFloat, 0, 8);
  double exponent = static_cast<double>(m.below(4));
  m.emit(Op::pow, {base, m.scalar(exponent, m.dtype(base))}, {},
         std::pow(std::max(1.0, m.bound(base)), exponent));
}

}  // namespace

void make_add(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  m.emit(Op::add, {lhs, rhs}, {}, real_bound(m, lhs, m.bound(lhs) + m.bound(rhs)));
}

void make_sub(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  m.emit(Op::sub, {lhs, rhs}, {}, real_bound(m, lhs, m.bound(lhs) + m.bound(rhs)));
}

void make_mul(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  m.emit(Op::mul, {lhs, rhs}, {}, real_bound(m, lhs, m.bound(lhs) * m.bound(rhs)));
}

void make_div(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kFloat);
  if (m.chance(0.2)) {
    rhs = m.scalar(m.one_of<double>({1, 2, -4, 0.5, 3, -0.7, -1}), m.dtype(rhs));
  } else {
    rhs = m.positive(rhs);
    if (m.chance(0.2)) rhs = m.emit(Op::sqrt, {rhs}, {}, m.bound(rhs));
    if (m.chance(0.2)) rhs = m.emit(Op::neg, {rhs});
  }
  if (m.chance(0.1)) lhs = m.emit(Op::neg, {lhs});
  if (m.chance(0.1)) lhs = m.scalar(1, m.dtype(rhs));
  m.emit(Op::div, {lhs, rhs}, {}, m.bound(lhs) * 3);
}

void make_floordiv(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kInteger);
  m.emit(Op::floordiv, {lhs, rhs});
}

void make_mod(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  if (m.is_real(lhs)) {
    lhs = m.off_edges(lhs);
    rhs = m.positive(rhs);
  }
  m.emit(Op::mod, {lhs, rhs}, {}, real_bound(m, lhs, m.bound(rhs)));
}

void make_pow(GraphMaker& m) {
  if (m.chance(0.5)) return make_whole_power(m);
  auto [lhs, rhs] = m.pair(kFloat);
  lhs = m.positive(lhs);
  if (m.chance(0.4)) {
    rhs = m.scalar(m.one_of<double>({-1, 0.5, 1.5, -0.5, 2}), m.dtype(rhs));
  } else {
    rhs = m.tame(rhs, 2);
  }
  m.emit(Op::pow, {lhs, rhs}, {}, 400);
}

void make_minimum(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  m.emit(Op::minimum, {m.off_edges(lhs), rhs});
}

void make_maximum(GraphMaker& m) {
  auto [lhs, rhs] = m.pair(kNumeric);
  m.emit(Op::maximum, {m.off_edges(lhs), rhs});
}

void make_clamp(GraphMaker& m) {
  Value in = m.off_edges(m.any(kFloat));
  double min = m.one_of<double>({-kInfinity, -1, 0, 0.3, -2.5});
  double max = m.one_of<double>({kInfinity, 1, 0.3, 2.5});
  m.emit(Op::clamp, {in}, {{"min", min}, {"max", max}}, std::max(m.bound(in), 2.5));
}

void make_neg(GraphMaker& m) { m.emit(Op::neg, {m.any(kSigned)}); }
void make_abs(GraphMaker& m) { make_kinked(m, Op::abs, kSigned); }
void make_sign(GraphMaker& m) { make_stepped(m, Op::sign, kSigned); }
void make_floor(GraphMaker& m) { make_stepped(m, Op::floor, kFloat); }
void make_ceil(GraphMaker& m) { make_stepped(m, Op::ceil, kFloat); }
void make_round(GraphMaker& m) { make_stepped(m, Op::round, kFloat); }
void make_relu(GraphMaker& m) { make_kinked(m, Op::relu, kSigned); }

void make_exp(GraphMaker& m) { m.emit(Op::exp, {m.any(kFloat, 0, 4)}, {}, std::exp(4.0)); }
void make_log(GraphMaker& m) { m.emit(Op::log, {m.positive(m.any(kFloat))}, {}, 3); }
void make_sqrt(GraphMaker& m) { m.emit(Op::sqrt, {m.positive(m.any(kFloat))}, {}, 5); }
void make_rsqrt(GraphMaker& m) { m.emit(Op::rsqrt, {m.positive(m.any(kFloat))}, {}, 2); }
void make_tanh(GraphMaker& m) { make_bounded(m, Op::tanh); }
void make_erf(GraphMaker& m) { make_bounded(m, Op::erf); }
void make_sin(GraphMaker& m) { make_bounded(m, Op::sin); }
void make_cos(GraphMaker& m) { make_bounded(m, Op::cos); }
void make_sigmoid(GraphMaker& m) { make_bounded(m, Op::sigmoid); }
void make_softplus(GraphMaker& m) { make_smooth(m, Op::softplus, kInfinity); }
void make_silu(GraphMaker& m) { make_smooth(m, Op::silu, kInfinity); }
void make_gelu(GraphMaker& m) {
  make_smooth(m, Op::gelu, kInfinity,
              {{"approximate", std::string(m.chance(0.5) ? "none" : "tanh")}});
}

void make_cast(GraphMaker& m) {
  Value in = m.any(kAny);
  DType to = m.random_dtype(kAny);
  if (is_float(to)) {
    in = m.small(in);
  } else {
    in = m.off_edges(in);
  }
  m.emit(Op::cast, {in}, {{"dtype", to}}, to == DType::boolean ? 1 : m.bound(in) + 1);
}

void make_eq(GraphMaker& m) { make_compared(m, Op::eq, kAny); }
void make_ne(GraphMaker& m) { make_compared(m, Op::ne, kAny); }
void make_lt(GraphMaker& m) { make_compared(m, Op::lt, kNumeric); }
void make_le(GraphMaker& m) { make_compared(m, Op::le, kNumeric); }
void make_gt(GraphMaker& m) { make_compared(m, Op::gt, kNumeric); }
void make_ge(GraphMaker& m) { make_compared(m, Op::ge, kNumeric); }
void make_logical_and(GraphMaker& m) { make_logical(m, Op::logical_and); }
void make_logical_or(GraphMaker& m) { make_logical(m, Op::logical_or); }
void make_logical_xor(GraphMaker& m) { make_logical(m, Op::logical_xor); }
void make_logical_not(GraphMaker& m) { m.emit(Op::logical_not, {m.any(kBool)}, {}, 1); }

void make_select(GraphMaker& m) {
  Value on_true = m.any(kAny);
  Value condition = m.fitting(m.shape(on_true), DType::boolean);
  const Shape both = *broadcast_shapes(m.shape(on_true), m.shape(condition), m.dims());
  Value on_false = m.fitting(both, m.dtype(on_true));
  m.emit(Op::select, {condition, on_true, on_false});
}

void make_is_finite(GraphMaker& m) {
  Value in = m.any(kFloat);
  if (m.chance(0.5)) {
    Value condition = m.fitting(m.shape(in), DType::boolean);
    double odd = m.one_of<double>({kInfinity, -kInfinity, std::nan("")});
    in = m.emit_private(Op::select, {condition, in, m.scalar(odd, m.dtype(in))});
  }
  m.emit(Op::is_finite, {in}, {}, 1);
}

}  // namespace weft
