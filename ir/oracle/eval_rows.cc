// The oracle's ops on rows: softmax and its logarithm, normalisations.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/oracle/elements.h"

namespace weft {

EvalResult eval_softmax(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Rows rows = rows_along(in.shape, args.node.attrs.integer("axis"));
  Tensor result = args.make_result();
  for_each_row(rows, [&](int64_t o, int64_t i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t k = 0; k < rows.size; ++k) largest = nan_max(in.reals[rows.at(o, k, i)], largest);
    if (largest == -std::numeric_limits<double>::infinity()) return;  // all masked: zeros
    double sum = 0;
    for (int64_t k = 0; k < rows.size; ++k) {
      double& out = result.reals[rows.at(o, k, i)];
      out = std::exp(in.reals[rows.at(o, k, i)] - largest);
      sum += out;
    }
    for (int64_t k = 0; k < rows.size; ++k) result.reals[rows.at(o, k, i)] /= sum;
  });
  return single(std::move(result));
}

EvalResult eval_log_softmax(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Rows rows = rows_along(in.shape, args.node.attrs.integer("axis"));
  Tensor result = args.make_result();
  for_each_row(rows, [&](int64_t o, int64_t i) {
    LogSumExp sum = log_sum_exp(in.reals, rows, o, i);
    for (int64_t k = 0; k < rows.size; ++k) {
      size_t at = rows.at(o, k, i);
      result.reals[at] = sum.log_p(in.reals[at]);
    }
  });
  return single(std::move(result));
}

EvalResult eval_logsumexp(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  Rows rows = rows_along(in.shape, args.node.attrs.integer("axis"));
  Tensor result = args.make_result();
  // The logarithm of 0: what a row of no elements keeps.
  std::ranges::fill(result.reals, -std::numeric_limits<double>::infinity());
  for_each_row(rows, [&](int64_t o, int64_t i) {
    LogSumExp sum = log_sum_exp(in.reals, rows, o, i);
    result.reals[static_cast<size_t>(o * rows.inner + i)] = sum.largest + sum.log_rest;
  });
  return single(std::move(result));
}

EvalResult eval_layer_norm(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  const std::vector<double>& gain = args.operand(1).reals;
  const std::vector<double>& bias = args.operand(2).reals;
  double eps = args.node.attrs.real("eps");
  Tensor result = args.make_result();
  size_t size = gain.size();
  for (size_t row = 0; row < in.reals.size(); row += size) {
    double mean = 0;
    for (size_t k = 0; k < size; ++k) mean += in.reals[row + k];
    mean /= static_cast<double>(size);
    double variance = 0;
    for (size_t k = 0; k < size; ++k)
      variance += (in.reals[row + k] - mean) * (in.reals[row + k] - mean);
    variance /= static_cast<double>(size);
    double scale = std::sqrt(variance + eps);
    for (size_t k = 0; k < size; ++k) {
      result.reals[row + k] = (in.reals[row + k] - mean) / scale * gain[k] + bias[k];
    }
  }
  return single(std::move(result));
}

EvalResult eval_rms_norm(const EvalArgs& args) {
  const Tensor& in = args.operand(0);
  const std::vector<double>& gain = args.operand(1).reals;
  double eps = args.node.attrs.real("eps");
  Tensor result = args.make_result();
  size_t size = gain.size();
  for (size_t row = 0; row < in.reals.size(); row += size) {
    double squares = 0;
    for (size_t k = 0; k < size; ++k) squares += in.reals[row + k] * in.reals[row + k];
    double scale = std::sqrt(squares / static_cast<double>(size) + eps);
    for (size_t k = 0; k < size; ++k) result.reals[row + k] = in.reals[row + k] / scale * gain[k];
  }
  return single(std::move(result));
}

}  // namespace weft
