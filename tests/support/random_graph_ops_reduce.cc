// Random products, reductions and ops on rows.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/graph_maker.h"

namespace weft {
namespace {

std::vector<int64_t> random_axes(GraphMaker& m, const Shape& shape) {
  std::vector<int64_t> axes;
  bool all = m.chance(0.2);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (all || m.chance(0.5)) axes.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

// Largest number of elements that are reduced to one.
double reduced_count(const GraphMaker& m, const Shape& shape, const std::vector<int64_t>& axes) {
  double count = 1;
  for (int64_t axis : axes) count *= static_cast<double>(m.high(shape[static_cast<size_t>(axis)]));
  return count;
}

Attrs reduction(GraphMaker& m, const std::vector<int64_t>& axes) {
  return {{"axes", axes}, {"keepdims", m.chance(0.4)}};
}

// An extremum, or one of booleans: no larger than its operand.
void make_reduced(GraphMaker& m, Op op, DTypeSet set) {
  Value in = m.off_edges(m.any(set));
  m.emit(op, {in}, reduction(m, random_axes(m, m.shape(in))), m.bound(in));
}

// [.., K, N], with batches that broadcast with those of lhs.
Value right_factor(GraphMaker& m, Value lhs) {
  const Type left = m.type(lhs);
  Shape shape = {left.shape.back(), m.random_dim()};
  if (left.rank() > 2 && m.chance(0.4)) {
    shape.insert(shape.begin(), left.shape.begin(), left.shape.end() - 2);
    if (m.chance(0.3)) shape[0] = 1;
  }
  if (m.high_count(shape) > 200) shape = {left.shape.back(), 2};
  if (m.chance(0.6)) return m.of_type({left.dtype, shape});
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  Value transposed = m.of_type({left.dtype, shape});
  std::vector<int64_t> perm(shape.size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return m.emit(Op::transpose, {transposed}, {{"perm", perm}});
}

// -inf where a mask is false, as attention has it; whole rows may be masked.
Value maybe_masked(GraphMaker& m, Value in) {
  if (m.chance(0.6)) return in;
  const Shape shape = m.shape(in);
  Value mask;
  if (shape.size() >= 2 && m.chance(0.5)) {
    mask =
        m.emit(Op::causal_mask, {}, {{"rows", shape[shape.size() - 2]}, {"cols", shape.back()}}, 1);
  } else {
    mask = m.of_type({DType::boolean, shape});
  }
  Value nothing = m.scalar(-std::numeric_limits<double>::infinity(), m.dtype(in));
  return m.emit_private(Op::select, {mask, in, nothing});
}

// Replaces the -inf of rows that were masked as a whole.
void keep_finite(GraphMaker& m, Value value, double bound) {
  Value finite = m.emit_private(Op::is_finite, {value});
  m.emit(Op::select, {finite, value, m.scalar(-bound, m.dtype(value))}, {}, bound);
}

double random_eps(GraphMaker& m, Value in) {
  // Equal elements leave nothing but rounding errors, which a small eps would blow up.
  return m.fact(in).exact ? m.one_of<double>({1e-5, 1e-6}) : m.one_of<double>({1e-2, 0.1});
}

}  // namespace

void make_matmul(GraphMaker& m) {
  Value lhs = m.any(m.chance(0.85) ? kFloat : kNumeric, 2, 8);
  Value rhs = m.tame(right_factor(m, lhs), 8);
  const double inner = static_cast<double>(m.high(m.shape(lhs).back()));
  std::optional<double> bound;
  if (m.is_real(lhs)) bound = m.bound(lhs) * m.bound(rhs) * inner;
  m.emit(Op::matmul, {lhs, rhs}, {}, bound);
}

void make_sum(GraphMaker& m) {
  Value in = m.any(kNumeric);
  std::vector<int64_t> axes = random_axes(m, m.shape(in));
  std::optional<double> bound;
  if (m.is_real(in)) bound = m.bound(in) * reduced_count(m, m.shape(in), axes);
  m.emit(Op::sum, {in}, reduction(m, axes), bound);
}

void make_mean(GraphMaker& m) {
  Value in = m.any(kFloat);
  m.emit(Op::mean, {in}, reduction(m, random_axes(m, m.shape(in))));
}

void make_prod(GraphMaker& m) {
  Value in = m.any(kNumeric, 0, 1.5);
  std::vector<int64_t> axes = random_axes(m, m.shape(in));
  while (reduced_count(m, m.shape(in), axes) > 50) axes.pop_back();
  std::optional<double> bound;
  if (m.is_real(in)) {
    bound = std::pow(std::max(1.0, m.bound(in)), reduced_count(m, m.shape(in), axes));
  }
  m.emit(Op::prod, {in}, reduction(m, axes), bound);
}

void make_max(GraphMaker& m) { make_reduced(m, Op::max, kNumeric); }
void make_min(GraphMaker& m) { make_reduced(m, Op::min, kNumeric); }
void make_any(GraphMaker& m) { make_reduced(m, Op::any, kBool); }
void make_all(GraphMaker& m) { make_reduced(m, Op::all, kBool); }

void make_argmax(GraphMaker& m) {
  Value in = m.off_edges(m.any(kNumeric, 1));
  int64_t axis = m.random_axis(in);
  const Dim size = m.shape(in)[static_cast<size_t>(axis)];
  Value out = m.emit(Op::argmax, {in}, {{"axis", axis}, {"keepdims", m.chance(0.4)}},
                     static_cast<double>(m.high(size)));
  m.fact(out).below = size;
}

void make_cumsum(GraphMaker& m) {
  Value in = m.any(kNumeric, 1);
  int64_t axis = m.random_axis(in);
  std::optional<double> bound;
  if (m.is_real(in)) bound = m.bound(in) * reduced_count(m, m.shape(in), {axis});
  m.emit(Op::cumsum, {in},
         {{"axis", axis}, {"exclusive", m.chance(0.5)}, {"reverse", m.chance(0.5)}}, bound);
}

void make_top_k(GraphMaker& m) {
  Value in = m.off_edges(m.any(kNumeric, 1));
  const Dim size = m.shape(in).back();
  Value out = m.emit(Op::top_k, {in}, {{"k", m.between(1, std::min<int64_t>(m.low(size), 3))}});
  m.fact({out.node, 1}) = {static_cast<double>(m.high(size)), true, size};
}

void make_global_norm(GraphMaker& m) {
  // One that is not 0: the norm has a kink there.
  const DType dtype = m.random_dtype(kFloat);
  std::vector<Value> inputs = {m.input({dtype, m.random_shape(1, 2)}, 6)};
  for (int64_t i = m.below(3); i > 0; --i)
    inputs.push_back(m.of_type({dtype, m.random_shape(0, 2)}));
  double squares = 0;
  for (Value in : inputs) {
    squares += static_cast<double>(m.high_count(m.shape(in))) * m.bound(in) * m.bound(in);
  }
  m.emit(Op::global_norm, inputs, {}, std::sqrt(squares));
}

void make_softmax(GraphMaker& m) {
  Value in = maybe_masked(m, m.any(kFloat, 1));
  m.emit(Op::softmax, {in}, {{"axis", m.random_axis(in)}}, 1);
}

void make_log_softmax(GraphMaker& m) {
  Value in = m.any(kFloat, 1);
  Value masked = maybe_masked(m, in);
  const double bound = 2 * m.bound(in) + 8;
  Attrs attrs = {{"axis", m.random_axis(in)}};
  if (masked == in) {
    m.emit(Op::log_softmax, {in}, attrs, bound);
  } else {
    keep_finite(m, m.emit_private(Op::log_softmax, {masked}, attrs), bound);
  }
}

void make_logsumexp(GraphMaker& m) {
  Value in = m.any(kFloat, 1);
  Value masked = maybe_masked(m, in);
  const double bound = m.bound(in) + 8;
  Attrs attrs = {{"axis", m.random_axis(in)}, {"keepdims", m.chance(0.4)}};
  if (masked == in) {
    m.emit(Op::logsumexp, {in}, attrs, bound);
  } else {
    keep_finite(m, m.emit_private(Op::logsumexp, {masked}, attrs), bound);
  }
}

void make_layer_norm(GraphMaker& m) {
  Value in = m.any(kFloat, 1);
  const Type row{m.dtype(in), {m.shape(in).back()}};
  Value gain = m.of_type(row);
  Value bias = m.of_type(row);
  const double spread = std::sqrt(static_cast<double>(m.high(row.shape[0])));
  m.emit(Op::layer_norm, {in, gain, bias}, {{"eps", random_eps(m, in)}},
         spread * m.bound(gain) + m.bound(bias));
}

void make_rms_norm(GraphMaker& m) {
  Value in = m.any(kFloat, 1);
  Value gain = m.of_type({m.dtype(in), {m.shape(in).back()}});
  const double spread = std::sqrt(static_cast<double>(m.high(m.shape(in).back())));
  m.emit(Op::rms_norm, {in, gain}, {{"eps", random_eps(m, in)}}, spread * m.bound(gain));
}

}  // namespace weft
