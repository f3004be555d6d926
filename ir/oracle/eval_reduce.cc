// The oracle's reductions, running sums and selections of the largest.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// out = fn(out, element) for each element that a result element stands for, beginning with `first`.
template <class T, class Fn>
Tensor reduce(const EvalArgs& args, T first, Fn fn) {
  const Tensor& in = args.operand(0);
  Sizes kept = in.shape;
  for (int64_t axis : args.node.attrs.ints("axes")) kept[static_cast<size_t>(axis)] = 1;
  Sizes strides = row_major_strides(kept);
  for (int64_t axis : args.node.attrs.ints("axes")) strides[static_cast<size_t>(axis)] = 0;

  Tensor result = args.make_result();
  auto& out = elements<T>(result);
  std::fill(out.begin(), out.end(), first);
  const auto& numbers = elements<T>(in);
  walk(in.shape, std::array<Sizes, 1>{strides}, [&](size_t i, const auto& at) {
    T& sum = out[static_cast<size_t>(at[0])];
    sum = fn(sum, numbers[i]);
  });
  return result;
}

// A reduction of floats by one function, of integers by another (wrapping around).
template <class RealFn, class IntegerFn>
EvalResult reduce_numeric(const EvalArgs& args, double first_real, int64_t first_integer,
                          RealFn of_reals, IntegerFn of_integers) {
  if (args.operand(0).real()) return single(reduce<double>(args, first_real, of_reals));
  DType dtype = args.result_dtype();
  return single(reduce<int64_t>(args, first_integer, [&](int64_t a, int64_t b) {
    return settle(dtype, static_cast<uint64_t>(of_integers(a, b)));
  }));
}

}  // namespace

EvalResult eval_sum(const EvalArgs& args) {
  return reduce_numeric(
      args, 0, 0, [](double a, double b) { return a + b; },
      [](uint64_t a, uint64_t b) { return a + b; });
}

EvalResult eval_prod(const EvalArgs& args) {
  return reduce_numeric(
      args, 1, 1, [](double a, double b) { return a * b; },
      [](uint64_t a, uint64_t b) { return a * b; });
}

EvalResult eval_max(const EvalArgs& args) {
  return reduce_numeric(args, -kInfinity, lowest_integer(args.result_dtype()), nan_max,
                        [](int64_t a, int64_t b) { return std::max(a, b); });
}

EvalResult eval_min(const EvalArgs& args) {
  return reduce_numeric(args, kInfinity, highest_integer(args.result_dtype()), nan_min,
                        [](int64_t a, int64_t b) { return std::min(a, b); });
}

EvalResult eval_mean(const EvalArgs& args) {
  double count = 1;
  for (int64_t axis : args.node.attrs.ints("axes")) {
    count *= static_cast<double>(args.operand(0).shape[static_cast<size_t>(axis)]);
  }
  Tensor result = reduce<double>(args, 0, [](double a, double b) { return a + b; });
  for (double& x : result.reals) x /= count;
  return single(std::move(result));
}

EvalResult eval_any(const EvalArgs& args) {
  return single(reduce<int64_t>(args, 0, [](int64_t a, int64_t b) { return a | b; }));
}

EvalResult eval_all(const EvalArgs& args) {
  return single(reduce<int64_t>(args, 1, [](int64_t a, int64_t b) { return a & b; }));
}

EvalResult eval_argmax(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  int64_t axis = args.node.attrs.integer("axis");
  Rows rows = rows_along(in.shape, axis);
  if (rows.size == 0) return args.fail("axis ", axis, " of ", str(in.shape), " is empty");
  Tensor result = args.make_result();
  by_storage(in, [&](auto zero) {
    const auto& numbers = elements<decltype(zero)>(in);
    for_each_row(rows, [&](int64_t o, int64_t i) {
      int64_t best = 0;
      for (int64_t k = 1; k < rows.size; ++k) {
        if (larger(numbers[rows.at(o, k, i)], numbers[rows.at(o, best, i)])) best = k;
      }
      result.integers[static_cast<size_t>(o * rows.inner + i)] = best;
    });
  });
  return single(std::move(result));
}

EvalResult eval_cumsum(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Rows rows = rows_along(in.shape, args.node.attrs.integer("axis"));
  bool exclusive = args.node.attrs.boolean("exclusive");
  bool reverse = args.node.attrs.boolean("reverse");
  Tensor result = args.make_result();
  by_storage(in, [&](auto zero) {
    using T = decltype(zero);
    const auto& numbers = elements<T>(in);
    auto& out = elements<T>(result);
    for_each_row(rows, [&](int64_t o, int64_t i) {
      Arithmetic<T> sum = 0;
      for (int64_t step = 0; step < rows.size; ++step) {
        size_t at = rows.at(o, reverse ? rows.size - 1 - step : step, i);
        Arithmetic<T> before = sum;
        sum += static_cast<Arithmetic<T>>(numbers[at]);
        out[at] = settle(in.dtype, exclusive ? before : sum);
      }
    });
  });
  return single(std::move(result));
}

EvalResult eval_top_k(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  int64_t k = args.node.attrs.integer("k");
  int64_t size = in.shape.back();
  if (k > size)
    return args.fail("k is ", k, ", but the last axis of ", str(in.shape), " has ", size);
  std::vector<Tensor> results;
  results.push_back(args.make_result(0));
  results.push_back(args.make_result(1));
  if (results[0].size() == 0) return results;
  int64_t rows = rows_along(in.shape, static_cast<int64_t>(in.shape.size()) - 1).outer;
  by_storage(in, [&](auto zero) {
    auto& values = elements<decltype(zero)>(results[0]);
    std::vector<int64_t> order(static_cast<size_t>(size));
    for (int64_t row = 0; row < rows; ++row) {
      const auto* numbers = elements<decltype(zero)>(in).data() + row * size;
      std::iota(order.begin(), order.end(), int64_t{0});
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        if (larger(numbers[a], numbers[b])) return true;
        return !larger(numbers[b], numbers[a]) && a < b;
      });
      for (int64_t j = 0; j < k; ++j) {
        auto at = static_cast<size_t>(row * k + j);
        results[1].integers[at] = order[static_cast<size_t>(j)];
        values[at] = numbers[order[static_cast<size_t>(j)]];
      }
    }
  });
  return results;
}

EvalResult eval_global_norm(const EvalArgs& args) {
  double sum = 0;
  for (const Tensor* in : args.operands) {
    for (double x : in->reals) sum += x * x;
  }
  return single(Tensor::scalar(args.result_dtype(), std::sqrt(sum)));
}

}  // namespace weft
