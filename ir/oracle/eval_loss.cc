// The oracle's losses.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/oracle/elements.h"

namespace weft {
namespace {

// The loss of each position by fn(log_p, row, target): log_p(k) is the logarithm of the softmax of
// class k. Positions with the ignored target have loss 0.
template <class Fn>
EvalResult loss_per_position(const EvalArgs& args, Fn fn) {
  const Tensor& logits = args.operand(0);
  const Tensor& targets = args.operand(1);
  int64_t ignored = args.node.attrs.integer("ignore_index");
  Rows rows = rows_along(logits.shape, static_cast<int64_t>(logits.shape.size()) - 1);
  if (rows.outer > 0 && rows.size == 0) return args.fail("there are no classes");
  Tensor result = args.make_result();
  for (int64_t row = 0; row < rows.outer; ++row) {
    int64_t target = targets.integers[static_cast<size_t>(row)];
    if (target == ignored) continue;
    if (target < 0 || target >= rows.size) {
      return args.fail("target ", target, " at position ", place(targets.shape, row),
                       " is out of range for ", rows.size, " classes");
    }
    LogSumExp sum = log_sum_exp(logits.reals, rows, row, 0);
    auto log_p = [&](int64_t k) { return sum.log_p(logits.reals[rows.at(row, k, 0)]); };
    result.reals[static_cast<size_t>(row)] = fn(log_p, rows.size, target);
  }
  return single(std::move(result));
}

}  // namespace

EvalResult eval_cross_entropy(const EvalArgs& args) {
  double smoothing = args.node.attrs.real("label_smoothing");
  return loss_per_position(args, [&](auto log_p, int64_t classes, int64_t target) {
    // A weight of 0 leaves its term out: 0 times an infinite logarithm would be NaN.
    double loss = smoothing == 1 ? 0 : -(1 - smoothing) * log_p(target);
    if (smoothing == 0) return loss;
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += log_p(k);
    return loss - smoothing / static_cast<double>(classes) * sum;
  });
}

EvalResult eval_focal(const EvalArgs& args) {
  double gamma = args.node.attrs.real("gamma");
  return loss_per_position(args, [&](auto log_p, int64_t, int64_t target) {
    double log = log_p(target);
    return -std::pow(-std::expm1(log), gamma) * log;  // -expm1(log p) is 1 - p
  });
}

EvalResult eval_mse(const EvalArgs& args) {
  const std::vector<double>& prediction = args.operand(0).reals;
  const std::vector<double>& target = args.operand(1).reals;
  double sum = 0;
  for (size_t i = 0; i < prediction.size(); ++i) {
    sum += (prediction[i] - target[i]) * (prediction[i] - target[i]);
  }
  return single(Tensor::scalar(args.result_dtype(), sum / static_cast<double>(prediction.size())));
}

}  // namespace weft
