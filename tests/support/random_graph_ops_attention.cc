// Random attention and its gradient, with any of the operands that may be left out.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/graph_maker.h"

namespace weft {
namespace {

constexpr double kFactorBound = 3;

// Operands and attributes of one attention.
struct Choice {
  DType dtype = DType::f32;
  Shape lead;
  Dim t, s, d, e;
  std::vector<Value> factors;  // q, k, v
  std::vector<Value> extras;
  Attrs attrs;
};

Shape with(Shape shape, const Dim& a, const Dim& b) {
  shape.push_back(a);
  shape.push_back(b);
  return shape;
}

// Some of the sizes are 1, some of the first axes are missing: stretched.
Shape thinned(GraphMaker& m, Shape shape) {
  for (Dim& dim : shape) {
    if (m.chance(0.3)) dim = 1;
  }
  while (!shape.empty() && m.chance(0.2)) shape.erase(shape.begin());
  return shape;
}

Value factor(GraphMaker& m, DType dtype, const Shape& lead, const Dim& rows, const Dim& cols) {
  return m.tame(m.of_type({dtype, with(lead, rows, cols)}), kFactorBound);
}

void add_extras(GraphMaker& m, Choice& c) {
  const Shape scores = with(c.lead, c.t, c.s);
  if (m.chance(0.4)) {
    c.extras.push_back(m.tame(m.of_type({c.dtype, thinned(m, scores)}), kFactorBound));
  }
  if (m.chance(0.4)) {
    c.extras.push_back(m.of_type({DType::boolean, thinned(m, scores)}));
    if (m.chance(0.3)) c.attrs.set("fill", m.one_of<double>({-1.5, 0.25}));
  }
  if (m.chance(0.3)) c.extras.push_back(m.indices(c.s + 1, thinned(m, c.lead)));
  if (m.chance(0.5)) {
    c.attrs.set("before", m.below(5) - 1);
    c.attrs.set("after", m.below(4) - 1);
  }
  if (!m.chance(0.3)) return;
  c.extras.push_back(m.of_type({DType::u32, {Dim(2)}}));
  c.attrs.set("rate", m.one_of<double>({0.1, 0.5}));
  c.attrs.set("stream", m.below(4));
}

Choice choose(GraphMaker& m) {
  Choice c;
  c.dtype = m.random_dtype(kFloat);
  c.lead = m.random_shape(0, 2);
  c.t = m.random_dim();
  c.s = m.random_dim();
  c.d = m.between(1, 4);
  c.e = m.between(1, 4);
  Value q = factor(m, c.dtype, c.lead, c.t, c.d);
  Value k = factor(m, c.dtype, thinned(m, c.lead), c.s, c.d);
  Value v = factor(m, c.dtype, thinned(m, c.lead), c.s, c.e);
  c.factors = {q, k, v};
  c.attrs.set("scale", m.one_of<double>({1, 0.5, 0.25}));
  add_extras(m, c);
  return c;
}

}  // namespace

void make_attention(GraphMaker& m) {
  Choice c = choose(m);
  std::vector<Value> operands = c.factors;
  operands.insert(operands.end(), c.extras.begin(), c.extras.end());
  // Scores of at most scale * d * bound^2 and bias, and the logarithm of their number.
  m.emit(Op::attention, operands, c.attrs, 60);
}

void make_attention_grad(GraphMaker& m) {
  Choice c = choose(m);
  const Shape out = with(c.lead, c.t, c.e);
  const Shape rows(out.begin(), out.end() - 1);
  const DType row_type = byte_size(c.dtype) == 2 ? DType::f32 : c.dtype;
  std::vector<Value> operands = c.factors;
  operands.insert(operands.end(), c.extras.begin(), c.extras.end());
  const Value forward = m.emit(Op::attention, operands, c.attrs, 60);
  operands = c.factors;
  operands.push_back({forward.node, 1});  // no other number is the logarithm of a row's sum
  operands.push_back(m.tame(m.of_type({row_type, rows}), kFactorBound));
  operands.push_back(m.tame(m.of_type({c.dtype, out}), kFactorBound));
  operands.insert(operands.end(), c.extras.begin(), c.extras.end());
  m.emit_final(Op::attention_grad, operands, c.attrs);
}

}  // namespace weft
