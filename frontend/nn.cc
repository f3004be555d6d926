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

Var layer_norm(const Var& x, const std::string& name, double eps) {
  if (!x.valid()) return x;
  ModelBuilder& m = *x.builder();
  Scope scope = m.scope(name);
  Type type{x.dtype(), {x.dim(-1)}};
  Var gain = m.param("gain", type, {Init::ones});  // in this order in the module
  Var bias = m.param("bias", type, {Init::zeros});
  return weft::layer_norm(x, gain, bias, eps);
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

Var sinusoidal_positions(ModelBuilder& m, const Dim& length, int64_t width, DType dtype) {
  Scope scope = m.scope("positions");
  if (width % 2 != 0) {
    m.fail(error({}, "sinusoidal positions need an even width, not ", width)
               .hint(cat("use ", width + 1)));
    return {};
  }
  int64_t pairs = width / 2;
  Var t = iota(m, {length, 1}, 0, dtype);
  Var frequency =
      exp(iota(m, {pairs}, 0, dtype) * (-2 * std::log(10000.0) / static_cast<double>(width)));
  Var angle = reshape(t * frequency, {length, pairs, 1});
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
