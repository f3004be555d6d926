// The ops of the table as C++ functions. What each computes stands in docs/ops.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/var.h"

namespace weft {

// The first result of an op, in the graph of its operands (at least one of them a Var).
Var call(Op op, const std::vector<Operand>& operands, Attrs attrs = {});
// All its results.
std::vector<Var> call_all(Op op, const std::vector<Operand>& operands, Attrs attrs = {});

// True for a row of the table without attributes that takes `count` operands.
constexpr bool takes_only(std::string_view operands, std::string_view attributes, size_t count) {
  size_t names = operands.empty() ? 0 : 1;
  for (char c : operands) names += c == ' ' ? 1 : 0;
  return attributes.empty() && names == count;
}

// Every op of the table that has operands and no attributes: exp(x), minimum(x, 0), matmul(x, w),
// select(mask, x, -1e9), ... Only the first operand must be a Var.
#define OP(name, operands, attributes, ...)                                                       \
  template <class... Rest>                                                                        \
  requires(takes_only(operands, attributes, 1 + sizeof...(Rest))) Var name(const Var& first,      \
                                                                           const Rest&... rest) { \
    return call(Op::name, {Operand(first), Operand(rest)...});                                    \
  }
#include "ir/graph/ops.def"
#undef OP

Var operator+(const Var& a, const Operand& b);
Var operator-(const Var& a, const Operand& b);
Var operator*(const Var& a, const Operand& b);
Var operator/(const Var& a, const Operand& b);
Var operator+(double a, const Var& b);
Var operator-(double a, const Var& b);
Var operator*(double a, const Var& b);
Var operator/(double a, const Var& b);
Var operator-(const Var& a);
Var operator&&(const Var& a, const Var& b);  // elementwise: both sides are always computed
Var operator||(const Var& a, const Var& b);
Var operator!(const Var& a);

using Axes = std::vector<int64_t>;

// Elementwise, with attributes.
Var clamp(const Var& in, double min, double max);
Var gelu(const Var& in, const std::string& approximate = "none");
Var cast(const Var& in, DType dtype);

// Reductions and rows. Negative axes count from the end.
Var sum(const Var& in, Axes axes, bool keepdims = false);
Var mean(const Var& in, Axes axes, bool keepdims = false);
Var max(const Var& in, Axes axes, bool keepdims = false);
Var min(const Var& in, Axes axes, bool keepdims = false);
Var prod(const Var& in, Axes axes, bool keepdims = false);
Var any(const Var& in, Axes axes, bool keepdims = false);
Var all(const Var& in, Axes axes, bool keepdims = false);
Var sum_all(const Var& in);  // over every axis
Var argmax(const Var& in, int64_t axis, bool keepdims = false);
Var cumsum(const Var& in, int64_t axis, bool exclusive = false, bool reverse = false);
std::pair<Var, Var> top_k(const Var& in, int64_t k);  // values, indices
Var global_norm(const std::vector<Var>& inputs);
Var softmax(const Var& in, int64_t axis = -1);
Var log_softmax(const Var& in, int64_t axis = -1);
Var logsumexp(const Var& in, int64_t axis = -1, bool keepdims = false);
Var layer_norm(const Var& in, const Var& gain, const Var& bias, double eps = 1e-5);
Var rms_norm(const Var& in, const Var& gain, double eps = 1e-6);

// Indexing.
Var gather(const Var& in, const Var& indices, int64_t axis = 0);
Var scatter(const Var& in, const Var& indices, const Var& updates, int64_t axis = 0);
Var scatter_add(const Var& in, const Var& indices, const Var& updates, int64_t axis = 0);
Var take_along_axis(const Var& in, const Var& indices, int64_t axis);
Var add_along_axis(const Var& in, const Var& indices, const Var& updates, int64_t axis);
Var one_hot(const Var& indices, const Dim& depth, DType dtype = DType::f32);
Var dynamic_slice(const Var& in, const Var& start, int64_t axis, const Dim& size);
Var update_slice(const Var& in, const Var& update, const Var& start, int64_t axis);

// Views and shape.
Var reshape(const Var& in, const Shape& shape);
Var transpose(const Var& in, Axes perm);
Var transpose(const Var& in);  // the last two axes
Var broadcast(const Var& in, const Shape& shape);
Var slice(const Var& in, const Shape& starts, const Shape& limits,
          std::vector<int64_t> strides = {});
Var slice_axis(const Var& in, int64_t axis, const Dim& start, const Dim& limit);
Var concat(const std::vector<Var>& inputs, int64_t axis);
Var pad(const Var& in, const Shape& low, const Shape& high, std::vector<int64_t> interior = {},
        double value = 0);

// Made from sizes: they need to be told the model.
Var scalar(ModelBuilder& m, double value, DType dtype);
Var full(ModelBuilder& m, double value, DType dtype, const Shape& shape);
Var constant(ModelBuilder& m, std::vector<double> values, const Shape& shape,
             DType dtype = DType::f32);
Var constant(ModelBuilder& m, std::vector<int64_t> values, const Shape& shape,
             DType dtype = DType::i32);
Var iota(ModelBuilder& m, const Shape& shape, int64_t axis = 0, DType dtype = DType::i32);
Var causal_mask(ModelBuilder& m, const Dim& rows, const Dim& cols);
Var window_mask(ModelBuilder& m, const Dim& rows, const Dim& cols, int64_t before, int64_t after);
Var padding_mask(const Var& lengths, const Dim& size);
Var patches(const Var& in, std::vector<int64_t> size, std::vector<int64_t> stride);
Var fold_patches(const Var& in, std::vector<int64_t> size, std::vector<int64_t> stride,
                 const Dim& height, const Dim& width);

// Randomness: `rng` is u32[2], seed and step. Each call has a stream of its own within its graph.
Var random_bits(const Var& rng, const Shape& shape);
Var dropout(const Var& in, const Var& rng, double rate);

// Losses, for each position.
Var cross_entropy(const Var& logits, const Var& targets, double label_smoothing = 0,
                  int64_t ignore_index = -100);
Var focal(const Var& logits, const Var& targets, double gamma = 2, int64_t ignore_index = -100);

// Optimizer steps: new parameter, then new state.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double eps = 1e-9;
  double weight_decay = 0;
};
std::vector<Var> sgd(const Var& param, const Var& grad, const Var& velocity, const Var& lr,
                     double momentum = 0, double weight_decay = 0);
std::vector<Var> adam(const Var& param, const Var& grad, const Var& m, const Var& v, const Var& lr,
                      const Var& step, const AdamOptions& options = {});
std::vector<Var> adamw(const Var& param, const Var& grad, const Var& m, const Var& v, const Var& lr,
                       const Var& step, const AdamOptions& options = {.weight_decay = 0.01});

}  // namespace weft
