// The oracle's elementwise ops: one scalar formula each.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

// out[i] = fn(in[i])
template <class In, class Out, class Fn>
EvalResult map(const EvalArgs& args, Fn fn) {
  Tensor result = args.make_result();
  const auto& in = elements<In>(args.operand(0));
  auto& out = elements<Out>(result);
  for (size_t i = 0; i < in.size(); ++i) out[i] = fn(in[i]);
  return single(std::move(result));
}

// out[i] = fn(lhs[i], rhs[i]), with broadcasting.
template <class In, class Out, class Fn>
EvalResult zip(const EvalArgs& args, Fn fn) {
  Tensor result = args.make_result();
  const Tensor& a = args.operand(0);
  const Tensor& b = args.operand(1);
  const auto& lhs = elements<In>(a);
  const auto& rhs = elements<In>(b);
  auto& out = elements<Out>(result);
  bool whole_a = a.shape == result.shape;
  bool whole_b = b.shape == result.shape;
  if (whole_a && whole_b) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = fn(lhs[i], rhs[i]);
  } else if (whole_a && rhs.size() == 1) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = fn(lhs[i], rhs[0]);
  } else if (whole_b && lhs.size() == 1) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = fn(lhs[0], rhs[i]);
  } else {
    std::array<Sizes, 2> strides = {broadcast_strides(a.shape, result.shape),
                                    broadcast_strides(b.shape, result.shape)};
    walk(result.shape, strides, [&](size_t i, const auto& at) {
      out[i] = fn(lhs[static_cast<size_t>(at[0])], rhs[static_cast<size_t>(at[1])]);
    });
  }
  return single(std::move(result));
}

// Of floats and of integers; the integers wrap around.
template <class RealFn, class IntegerFn>
EvalResult map_numeric(const EvalArgs& args, RealFn of_reals, IntegerFn of_integers) {
  if (args.operand(0).real()) return map<double, double>(args, of_reals);
  DType dtype = args.result_dtype();
  return map<int64_t, int64_t>(
      args, [&](int64_t x) { return settle(dtype, static_cast<uint64_t>(of_integers(x))); });
}

template <class RealFn, class IntegerFn>
EvalResult zip_numeric(const EvalArgs& args, RealFn of_reals, IntegerFn of_integers) {
  if (args.operand(0).real()) return zip<double, double>(args, of_reals);
  DType dtype = args.result_dtype();
  return zip<int64_t, int64_t>(args, [&](int64_t a, int64_t b) {
    return settle(dtype, static_cast<uint64_t>(of_integers(a, b)));
  });
}

template <class Fn>
EvalResult compare(const EvalArgs& args, Fn fn) {
  return by_storage(args.operand(0),
                    [&](auto zero) { return zip<decltype(zero), int64_t>(args, fn); });
}

// Total: the quotient by 0 is 0, and by -1 it wraps instead of overflowing.
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// fmod is exact, where a - floor(a / b) * b is lost in rounding once the quotient is large.
double floor_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// A 64-bit integer as a double that rounds on to f32, f16 or bf16 as the integer itself would:
// what does not fit into 53 bits leaves a trace in the last one.
double sticky_real(int64_t x) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (x > -kExact && x < kExact) return static_cast<double>(x);
  int64_t rest = x & 0x7ff;
  return static_cast<double>(x - rest + (rest != 0 ? 0x400 : 0));
}

}  // namespace

#define REALS(op, formula)                                              \
  EvalResult eval_##op(const EvalArgs& args) {                          \
    return map<double, double>(args, [](double x) { return formula; }); \
  }
#define SIGNED(op, real_formula, integer_formula)                                                \
  EvalResult eval_##op(const EvalArgs& args) {                                                   \
    return map_numeric(                                                                          \
        args, [](double x) { return real_formula; }, [](int64_t x) { return integer_formula; }); \
  }
#define TWO_REALS(op, formula)                                                    \
  EvalResult eval_##op(const EvalArgs& args) {                                    \
    return zip<double, double>(args, [](double a, double b) { return formula; }); \
  }
#define TWO_NUMBERS(op, real_formula, integer_formula)         \
  EvalResult eval_##op(const EvalArgs& args) {                 \
    return zip_numeric(                                        \
        args, [](double a, double b) { return real_formula; }, \
        [](int64_t a, int64_t b) { return integer_formula; }); \
  }
// The same formula for both, the integers without sign.
#define RING(op, formula)                                 \
  EvalResult eval_##op(const EvalArgs& args) {            \
    return zip_numeric(                                   \
        args, [](double a, double b) { return formula; }, \
        [](uint64_t a, uint64_t b) { return formula; });  \
  }
#define COMPARE(op, formula)                                               \
  EvalResult eval_##op(const EvalArgs& args) {                             \
    return compare(args, [](auto a, auto b) { return int64_t{formula}; }); \
  }

RING(add, a + b)
RING(sub, a - b)
RING(mul, a* b)
TWO_REALS(div, a / b)
TWO_REALS(pow, std::pow(a, b))
TWO_NUMBERS(mod, floor_remainder(a, b), floor_remainder(a, b))
TWO_NUMBERS(minimum, nan_min(a, b), std::min(a, b))
TWO_NUMBERS(maximum, nan_max(a, b), std::max(a, b))

SIGNED(neg, -x, -static_cast<uint64_t>(x))
SIGNED(abs, std::fabs(x), x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x))
SIGNED(sign, x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x, (x > 0) - (x < 0))
SIGNED(relu, nan_max(x, 0), std::max<int64_t>(x, 0))
REALS(floor, std::floor(x))
REALS(ceil, std::ceil(x))
REALS(round, std::nearbyint(x))
REALS(exp, std::exp(x))
REALS(log, std::log(x))
REALS(sqrt, std::sqrt(x))
REALS(rsqrt, 1 / std::sqrt(x))
REALS(tanh, std::tanh(x))
REALS(erf, std::erf(x))
REALS(sin, std::sin(x))
REALS(cos, std::cos(x))
REALS(sigmoid, sigmoid(x))
REALS(softplus, nan_max(x, 0) + std::log1p(std::exp(-std::fabs(x))))
REALS(silu, x* sigmoid(x))

COMPARE(eq, a == b)
COMPARE(ne, a != b)
COMPARE(lt, a < b)
COMPARE(le, a <= b)
COMPARE(gt, a > b)
COMPARE(ge, a >= b)
COMPARE(logical_and, a != 0 && b != 0)
COMPARE(logical_or, a != 0 || b != 0)
COMPARE(logical_xor, (a != 0) != (b != 0))

EvalResult eval_floordiv(const EvalArgs& args) {
  DType dtype = args.result_dtype();
  return zip<int64_t, int64_t>(
      args, [&](int64_t a, int64_t b) { return wrap_to(dtype, floor_quotient(a, b)); });
}

EvalResult eval_clamp(const EvalArgs& args) {
  double low = args.node.attrs.real("min");
  double high = args.node.attrs.real("max");
  return map<double, double>(args, [&](double x) { return nan_min(nan_max(x, low), high); });
}

EvalResult eval_gelu(const EvalArgs& args) {
  if (args.node.attrs.text("approximate") == "none") {
    return map<double, double>(
        args, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
  }
  const double scale = std::sqrt(2 / std::numbers::pi);
  return map<double, double>(args, [&](double x) {
    return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
  });
}

EvalResult eval_cast(const EvalArgs& args) {
  DType from = args.operand(0).dtype;
  DType to = args.result_dtype();
  if (is_float(from)) {
    if (is_float(to)) return map<double, double>(args, [&](double x) { return round_to(to, x); });
    return map<double, int64_t>(args, [&](double x) { return to_integer(to, x); });
  }
  if (!is_float(to)) return map<int64_t, int64_t>(args, [&](int64_t x) { return wrap_to(to, x); });
  if (to == DType::f64) {
    return map<int64_t, double>(args, [](int64_t x) { return static_cast<double>(x); });
  }
  return map<int64_t, double>(args, [&](int64_t x) { return round_to(to, sticky_real(x)); });
}

EvalResult eval_logical_not(const EvalArgs& args) {
  return map<int64_t, int64_t>(args, [](int64_t x) { return int64_t{x == 0}; });
}

EvalResult eval_is_finite(const EvalArgs& args) {
  return map<double, int64_t>(args, [](double x) { return int64_t{std::isfinite(x)}; });
}

EvalResult eval_select(const EvalArgs& args) {
  Tensor result = args.make_result();
  std::array<Sizes, 3> strides;
  for (size_t n = 0; n < 3; ++n) {
    strides[n] = broadcast_strides(args.operand(n).shape, result.shape);
  }
  const std::vector<int64_t>& condition = args.operand(0).integers;
  by_storage(result, [&](auto zero) {
    const auto& on_true = elements<decltype(zero)>(args.operand(1));
    const auto& on_false = elements<decltype(zero)>(args.operand(2));
    auto& out = elements<decltype(zero)>(result);
    walk(result.shape, strides, [&](size_t i, const auto& at) {
      bool taken = condition[static_cast<size_t>(at[0])] != 0;
      out[i] = taken ? on_true[static_cast<size_t>(at[1])] : on_false[static_cast<size_t>(at[2])];
    });
  });
  return single(std::move(result));
}

}  // namespace weft
