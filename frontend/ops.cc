// SPDX-License-Identifier: Apache-2.0
#include "frontend/ops.h"

#include <cmath>
#include <numeric>

#include "frontend/builder.h"

namespace weft {
namespace {

std::vector<Operand> operands_of(const std::vector<Var>& vars) {
  return {vars.begin(), vars.end()};
}

Var reduce(Op op, const Var& in, Axes axes, bool keepdims) {
  return call(op, {in}, {{"axes", std::move(axes)}, {"keepdims", keepdims}});
}

Var make(ModelBuilder& m, Op op, Attrs attrs) { return m.emit(op, {}, std::move(attrs))[0]; }

Attrs adam_attrs(const AdamOptions& options) {
  return {{"beta1", options.beta1},
          {"beta2", options.beta2},
          {"eps", options.eps},
          {"weight_decay", options.weight_decay}};
}

}  // namespace

std::vector<Var> call_all(Op op, const std::vector<Operand>& operands, Attrs attrs) {
  for (const Operand& operand : operands) {
    if (operand.is_number || operand.var.builder() == nullptr) continue;
    return operand.var.builder()->emit(op, operands, std::move(attrs));
  }
  return std::vector<Var>(info(op).results.size());
}

Var call(Op op, const std::vector<Operand>& operands, Attrs attrs) {
  return call_all(op, operands, std::move(attrs))[0];
}

Var operator+(const Var& a, const Operand& b) { return call(Op::add, {a, b}); }
Var operator-(const Var& a, const Operand& b) { return call(Op::sub, {a, b}); }
Var operator*(const Var& a, const Operand& b) { return call(Op::mul, {a, b}); }
Var operator/(const Var& a, const Operand& b) { return call(Op::div, {a, b}); }
Var operator+(double a, const Var& b) { return call(Op::add, {a, b}); }
Var operator-(double a, const Var& b) { return call(Op::sub, {a, b}); }
Var operator*(double a, const Var& b) { return call(Op::mul, {a, b}); }
Var operator/(double a, const Var& b) { return call(Op::div, {a, b}); }
Var operator-(const Var& a) { return call(Op::neg, {a}); }
Var operator&&(const Var& a, const Var& b) { return call(Op::logical_and, {a, b}); }
Var operator||(const Var& a, const Var& b) { return call(Op::logical_or, {a, b}); }
Var operator!(const Var& a) { return call(Op::logical_not, {a}); }

Var clamp(const Var& in, double min, double max) {
  return call(Op::clamp, {in}, {{"min", min}, {"max", max}});
}
Var gelu(const Var& in, const std::string& approximate) {
  return call(Op::gelu, {in}, {{"approximate", approximate}});
}
Var cast(const Var& in, DType dtype) { return call(Op::cast, {in}, {{"dtype", dtype}}); }

Var sum(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::sum, in, std::move(axes), keepdims);
}
Var mean(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::mean, in, std::move(axes), keepdims);
}
Var max(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::max, in, std::move(axes), keepdims);
}
Var min(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::min, in, std::move(axes), keepdims);
}
Var prod(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::prod, in, std::move(axes), keepdims);
}
Var any(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::any, in, std::move(axes), keepdims);
}
Var all(const Var& in, Axes axes, bool keepdims) {
  return reduce(Op::all, in, std::move(axes), keepdims);
}
Var sum_all(const Var& in) {
  Axes axes(in.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return sum(in, std::move(axes));
}
Var argmax(const Var& in, int64_t axis, bool keepdims) {
  return call(Op::argmax, {in}, {{"axis", axis}, {"keepdims", keepdims}});
}
Var cumsum(const Var& in, int64_t axis, bool exclusive, bool reverse) {
  return call(Op::cumsum, {in}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
std::pair<Var, Var> top_k(const Var& in, int64_t k) {
  std::vector<Var> results = call_all(Op::top_k, {in}, {{"k", k}});
  return {results[0], results[1]};
}
Var global_norm(const std::vector<Var>& inputs) {
  return call(Op::global_norm, operands_of(inputs));
}
Var softmax(const Var& in, int64_t axis) { return call(Op::softmax, {in}, {{"axis", axis}}); }
Var log_softmax(const Var& in, int64_t axis) {
  return call(Op::log_softmax, {in}, {{"axis", axis}});
}
Var logsumexp(const Var& in, int64_t axis, bool keepdims) {
  return call(Op::logsumexp, {in}, {{"axis", axis}, {"keepdims", keepdims}});
}
Var layer_norm(const Var& in, const Var& gain, const Var& bias, double eps) {
  return call(Op::layer_norm, {in, gain, bias}, {{"eps", eps}});
}
Var rms_norm(const Var& in, const Var& gain, double eps) {
  return call(Op::rms_norm, {in, gain}, {{"eps", eps}});
}

Var gather(const Var& in, const Var& indices, int64_t axis) {
  return call(Op::gather, {in, indices}, {{"axis", axis}});
}
Var scatter(const Var& in, const Var& indices, const Var& updates, int64_t axis) {
  return call(Op::scatter, {in, indices, updates}, {{"axis", axis}});
}
Var scatter_add(const Var& in, const Var& indices, const Var& updates, int64_t axis) {
  return call(Op::scatter_add, {in, indices, updates}, {{"axis", axis}});
}
Var take_along_axis(const Var& in, const Var& indices, int64_t axis) {
  return call(Op::take_along_axis, {in, indices}, {{"axis", axis}});
}
Var add_along_axis(const Var& in, const Var& indices, const Var& updates, int64_t axis) {
  return call(Op::add_along_axis, {in, indices, updates}, {{"axis", axis}});
}
Var one_hot(const Var& indices, const Dim& depth, DType dtype) {
  return call(Op::one_hot, {indices}, {{"depth", depth}, {"dtype", dtype}});
}
Var dynamic_slice(const Var& in, const Var& start, int64_t axis, const Dim& size) {
  return call(Op::dynamic_slice, {in, start}, {{"axis", axis}, {"size", size}});
}
Var update_slice(const Var& in, const Var& update, const Var& start, int64_t axis) {
  return call(Op::update_slice, {in, update, start}, {{"axis", axis}});
}

Var reshape(const Var& in, const Shape& shape) {
  return call(Op::reshape, {in}, {{"shape", shape}});
}
Var transpose(const Var& in, Axes perm) {
  return call(Op::transpose, {in}, {{"perm", std::move(perm)}});
}
Var transpose(const Var& in) {
  Axes perm(in.shape().size());
  std::iota(perm.begin(), perm.end(), 0);
  if (perm.size() >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(in, std::move(perm));
}
Var broadcast(const Var& in, const Shape& shape) {
  return call(Op::broadcast, {in}, {{"shape", shape}});
}
Var slice(const Var& in, const Shape& starts, const Shape& limits, std::vector<int64_t> strides) {
  return call(Op::slice, {in},
              {{"starts", starts}, {"limits", limits}, {"strides", std::move(strides)}});
}
Var slice_axis(const Var& in, int64_t axis, const Dim& start, const Dim& limit) {
  Shape starts(in.shape().size());
  Shape limits = in.shape();
  in.dim(axis);  // reports an axis that is not there
  int64_t index = axis < 0 ? axis + in.rank() : axis;
  if (index < 0 || index >= in.rank()) return {};
  starts[static_cast<size_t>(index)] = start;
  limits[static_cast<size_t>(index)] = limit;
  return slice(in, starts, limits);
}
Var concat(const std::vector<Var>& inputs, int64_t axis) {
  return call(Op::concat, operands_of(inputs), {{"axis", axis}});
}
Var pad(const Var& in, const Shape& low, const Shape& high, std::vector<int64_t> interior,
        double value) {
  return call(Op::pad, {in},
              {{"low", low}, {"high", high}, {"interior", std::move(interior)}, {"value", value}});
}

Var scalar(ModelBuilder& m, double value, DType dtype) { return full(m, value, dtype, {}); }
Var full(ModelBuilder& m, double value, DType dtype, const Shape& shape) {
  // 2^62 is far beyond every index and count, and what is below it survives the conversion.
  bool whole = std::floor(value) == value && std::abs(value) < 0x1p62;
  if (is_float(dtype) || !whole) return constant(m, std::vector{value}, shape, dtype);
  return constant(m, std::vector{static_cast<int64_t>(value)}, shape, dtype);
}
Var constant(ModelBuilder& m, std::vector<double> values, const Shape& shape, DType dtype) {
  return make(m, Op::constant,
              {{"value", Numbers{std::move(values)}}, {"dtype", dtype}, {"shape", shape}});
}
Var constant(ModelBuilder& m, std::vector<int64_t> values, const Shape& shape, DType dtype) {
  return make(m, Op::constant,
              {{"value", Numbers{std::move(values)}}, {"dtype", dtype}, {"shape", shape}});
}
Var iota(ModelBuilder& m, const Shape& shape, int64_t axis, DType dtype) {
  return make(m, Op::iota, {{"shape", shape}, {"axis", axis}, {"dtype", dtype}});
}
Var causal_mask(ModelBuilder& m, const Dim& rows, const Dim& cols) {
  return make(m, Op::causal_mask, {{"rows", rows}, {"cols", cols}});
}
Var window_mask(ModelBuilder& m, const Dim& rows, const Dim& cols, int64_t before, int64_t after) {
  return make(m, Op::window_mask,
              {{"rows", rows}, {"cols", cols}, {"before", before}, {"after", after}});
}
Var padding_mask(const Var& lengths, const Dim& size) {
  return call(Op::padding_mask, {lengths}, {{"size", size}});
}
Var patches(const Var& in, std::vector<int64_t> size, std::vector<int64_t> stride) {
  return call(Op::patches, {in}, {{"size", std::move(size)}, {"stride", std::move(stride)}});
}
Var fold_patches(const Var& in, std::vector<int64_t> size, std::vector<int64_t> stride,
                 const Dim& height, const Dim& width) {
  return call(Op::fold_patches, {in},
              {{"size", std::move(size)},
               {"stride", std::move(stride)},
               {"height", height},
               {"width", width}});
}

Var random_bits(const Var& rng, const Shape& shape) {
  if (rng.builder() == nullptr) return {};
  return call(Op::random_bits, {rng}, {{"shape", shape}, {"stream", rng.builder()->next_stream()}});
}
Var dropout(const Var& in, const Var& rng, double rate) {
  if (rng.builder() == nullptr) return {};
  return call(Op::dropout, {in, rng}, {{"rate", rate}, {"stream", rng.builder()->next_stream()}});
}

Var cross_entropy(const Var& logits, const Var& targets, double label_smoothing,
                  int64_t ignore_index) {
  return call(Op::cross_entropy, {logits, targets},
              {{"label_smoothing", label_smoothing}, {"ignore_index", ignore_index}});
}
Var focal(const Var& logits, const Var& targets, double gamma, int64_t ignore_index) {
  return call(Op::focal, {logits, targets}, {{"gamma", gamma}, {"ignore_index", ignore_index}});
}

std::vector<Var> sgd(const Var& param, const Var& grad, const Var& velocity, const Var& lr,
                     double momentum, double weight_decay) {
  return call_all(Op::sgd, {param, grad, velocity, lr},
                  {{"momentum", momentum}, {"weight_decay", weight_decay}});
}
std::vector<Var> adam(const Var& param, const Var& grad, const Var& m, const Var& v, const Var& lr,
                      const Var& step, const AdamOptions& options) {
  return call_all(Op::adam, {param, grad, m, v, lr, step}, adam_attrs(options));
}
std::vector<Var> adamw(const Var& param, const Var& grad, const Var& m, const Var& v, const Var& lr,
                       const Var& step, const AdamOptions& options) {
  return call_all(Op::adamw, {param, grad, m, v, lr, step}, adam_attrs(options));
}

}  // namespace weft
