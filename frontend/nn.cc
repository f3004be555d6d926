// SPDX-License-Identifier: Apache-2.0
#include "frontend/nn.h"

#include <cmath>

namespace weft::nn {

Var linear(const Var& x, const std::string& name, const Dim& out, bool bias) {
  if (!x.valid()) return x;
  ModelBuilder& m = *x.builder();
  Scope scope = m.scope(name);
  Var weight = m.param("weight", {x.dtype(), {x.dim(-1), out}}, {Init::xavier_uniform});
  Var product = matmul(x, weight);
  return bias ? product + m.param("bias", {x.dtype(), {out}}, {Init::zeros}) : product;
}

Var embedding(ModelBuilder& m, const std::string& name, const Dim& rows, int64_t width,
              DType dtype) {
  Scope scope = m.scope(name);
  double deviation = 1 / std::sqrt(static_cast<double>(width));
  return m.param("weight", {dtype, {rows, width}}, {Init::normal, deviation});
}

Var layer_norm(const Var& x, const std::string& name, double eps, bool bias) {
  if (!x.valid()) return x;
  ModelBuilder& m = *x.builder();
  Scope scope = m.scope(name);
  Type type{x.dtype(), {x.dim(-1)}};
  Var gain = m.param("gain", type, {Init::ones});  // in this order in the module
  Var offset = bias ? m.param("bias", type, {Init::zeros}) : full(m, 0, type.dtype, type.shape);
  return weft::layer_norm(x, gain, offset, eps);
}

Var dropout(const Var& x, double rate) {
  if (!x.valid() || rate == 0 || !x.builder()->rng().valid()) return x;
  return weft::dropout(x, x.builder()->rng(), rate);
}

Var activate(const Var& x, Activation activation) {
  switch (activation) {
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu(x, "none");
    case Activation::gelu_tanh: return gelu(x, "tanh");
    case Activation::silu: return silu(x);
  }
  return x;
}

Var split_heads(const Var& x, int64_t heads) {
  Dim width = Dim::floor_div(x.dim(-1), heads);
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, width}), {0, 2, 1, 3});
}

Var merge_heads(const Var& x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

namespace {

// t / 10000^(2i/width) for t < length and i < width / 2: [length, width / 2].
Var position_angles(ModelBuilder& m, const Dim& length, int64_t width, DType dtype) {
  Var t = iota(m, {length, 1}, 0, dtype);
  return t * exp(iota(m, {width / 2}, 0, dtype) *
                 (-2 * std::log(10000.0) / static_cast<double>(width)));
}

bool even_width(ModelBuilder& m, const char* what, int64_t width) {
  if (width % 2 == 0) return true;
  m.fail(
      error({}, what, " positions need an even width, not ", width).hint(cat("use ", width + 1)));
  return false;
}

}  // namespace

Var rotary(const Var& x) {
  if (!x.valid()) return x;
  ModelBuilder& m = *x.builder();
  Scope scope = m.scope("rotary");
  const int64_t width = x.dim(-1).constant();
  if (!even_width(m, "rotary", width)) return {};
  Var angle = position_angles(m, x.dim(-2), width, x.dtype());
  Var low = slice_axis(x, -1, 0, width / 2);
  Var high = slice_axis(x, -1, width / 2, width);
  return concat({low * cos(angle) - high * sin(angle), high * cos(angle) + low * sin(angle)}, -1);
}

Var sinusoidal_positions(ModelBuilder& m, const Dim& length, int64_t width, DType dtype) {
  Scope scope = m.scope("positions");
  if (!even_width(m, "sinusoidal", width)) return {};
  int64_t pairs = width / 2;
  Var angle = reshape(position_angles(m, length, width, dtype), {length, pairs, 1});
  return reshape(concat({sin(angle), cos(angle)}, -1), {length, width});
}

Var learned_positions(ModelBuilder& m, const std::string& name, const Dim& length, int64_t limit,
                      int64_t width, DType dtype) {
  return slice_axis(embedding(m, name, limit, width, dtype), 0, 0, length);
}

Var padding_mask_of(const Var& ids, int64_t pad) {
  return reshape(ne(ids, static_cast<double>(pad)), {ids.dim(0), 1, 1, ids.dim(1)});
}

Var mean_where(const Var& keep, const Var& values) {
  Var count = maximum(sum_all(cast(keep, values.dtype())), 1);
  return sum_all(select(keep, values, 0)) / count;
}

}  // namespace weft::nn
