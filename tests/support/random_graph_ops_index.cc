// Random indexing, losses and optimizer steps.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/support/graph_maker.h"

namespace weft {
namespace {

// What gather makes of `in` with indices of a shape.
Shape gathered(const Shape& in, int64_t axis, const Shape& indices) {
  Shape shape(in.begin(), in.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), in.begin() + axis + 1, in.end());
  return shape;
}

void make_scattered(GraphMaker& m, Op op, DTypeSet set) {
  Value in = m.any(set, 1);
  int64_t axis = m.random_axis(in);
  Value indices = m.indices(m.shape(in)[static_cast<size_t>(axis)]);
  const Shape shape = gathered(m.shape(in), axis, m.shape(indices));
  Value updates = m.of_type({m.dtype(in), shape});
  std::optional<double> bound;
  if (op == Op::scatter_add && m.is_real(in)) {
    bound = m.bound(in) + m.bound(updates) * static_cast<double>(m.high_count(m.shape(indices)));
  }
  m.emit(op, {in, indices, updates}, {{"axis", axis}}, bound);
}

// Of the shape of `in`, but for its size along `axis`.
Value indices_along(GraphMaker& m, Value in, int64_t axis) {
  Shape shape = m.shape(in);
  const Dim size = shape[static_cast<size_t>(axis)];
  shape[static_cast<size_t>(axis)] = m.chance(0.5) ? Dim(m.between(1, 3)) : size;
  return m.indices(size, shape);
}

int64_t random_part(GraphMaker& m, const Dim& size) { return m.between(1, m.low(size)); }

Value start_of(GraphMaker& m, const Dim& size, const Dim& part) {
  return m.indices(size - part + 1, Shape{});
}

// Logits, and targets below the size of their last axis.
std::pair<Value, Value> logits_and_targets(GraphMaker& m) {
  Value logits = m.any(kFloat, 1);
  const Shape shape = m.shape(logits);
  return {logits, m.indices(shape.back(), Shape(shape.begin(), shape.end() - 1))};
}

void make_position_loss(GraphMaker& m, Op op, Attr attr) {
  auto [logits, targets] = logits_and_targets(m);
  const double classes = static_cast<double>(m.high(m.shape(logits).back()));
  Attrs attrs = {std::move(attr), {"ignore_index", m.one_of<int64_t>({-100, 0, 1})}};
  m.emit(op, {logits, targets}, attrs, 2 * m.bound(logits) + std::log(classes));
}

std::string target_of(const GraphMaker& m, Value storage) {
  return m.graph().node(storage).attrs.text("name");
}

// What an optimizer step reads, and the type of all of it.
struct Trained {
  Type type;
  Value param;
  Value grad;
  Value rate;
};

Trained make_trained(GraphMaker& m) {
  Type type{m.random_dtype(kFloat), {}};
  for (int64_t rank = m.below(3); rank > 0; --rank) type.shape.emplace_back(m.between(1, 5));
  Value param = m.storage(Storage::param, type, {Init::normal, 1.0}, 6);
  Value grad = m.of_type(type);
  Value rate = m.chance(0.5) ? m.scalar(0.01, type.dtype) : m.of_type({type.dtype, {}});
  return {type, param, grad, rate};
}

// Results of an optimizer can be computed with, but not differentiated.
void store(GraphMaker& m, const std::vector<Value>& targets, Value results) {
  for (uint32_t i = 0; i < targets.size(); ++i) {
    m.add_update(target_of(m, targets[i]), {results.node, i});
  }
}

void make_adam_step(GraphMaker& m, Op op) {
  Trained t = make_trained(m);
  // Of a gradient that is nothing but a rounding error, the first step would leave only the sign.
  bool fresh = m.fact(t.grad).exact;
  Value first = m.storage(Storage::state, t.type, {Init::zeros, 0}, 6);
  Value second = m.storage(Storage::state, t.type, {fresh ? Init::zeros : Init::ones, 0}, 36);
  Value step = m.chance(0.5) ? m.scalar(static_cast<double>(m.between(1, 9)), DType::i32)
                             : m.private_input({DType::i32, {}}, 8);
  Attrs attrs = {{"beta1", m.one_of<double>({0.9, 0.5, 0.0})},
                 {"beta2", m.one_of<double>({0.98, 0.9})},
                 {"weight_decay", m.one_of<double>({0.0, 0.1})}};
  std::vector<Value> operands = {t.param, t.grad, first, second, t.rate, step};
  Value out = m.emit_final(op, operands, attrs);
  store(m, {t.param, first, second}, out);
}

}  // namespace

void make_gather(GraphMaker& m) {
  Value in = m.any(kAny, 1);
  int64_t axis = m.random_axis(in);
  Value indices = m.indices(m.shape(in)[static_cast<size_t>(axis)]);
  m.emit(Op::gather, {in, indices}, {{"axis", axis}}, m.bound(in));
}

void make_scatter(GraphMaker& m) { make_scattered(m, Op::scatter, kAny); }
void make_scatter_add(GraphMaker& m) { make_scattered(m, Op::scatter_add, kNumeric); }

void make_take_along_axis(GraphMaker& m) {
  Value in = m.any(kAny, 1);
  int64_t axis = m.random_axis(in);
  Value indices = indices_along(m, in, axis);
  m.emit(Op::take_along_axis, {in, indices}, {{"axis", axis}}, m.bound(in));
}

void make_add_along_axis(GraphMaker& m) {
  Value in = m.any(kNumeric, 1);
  int64_t axis = m.random_axis(in);
  Value indices = indices_along(m, in, axis);
  Value updates = m.of_type({m.dtype(in), m.shape(indices)});
  std::optional<double> bound;
  if (m.is_real(in)) {
    const Dim count = m.shape(indices)[static_cast<size_t>(axis)];
    bound = m.bound(in) + m.bound(updates) * static_cast<double>(m.high(count));
  }
  m.emit(Op::add_along_axis, {in, indices, updates}, {{"axis", axis}}, bound);
}

void make_one_hot(GraphMaker& m) {
  Value indices = m.indices(m.random_dim());
  m.emit(Op::one_hot, {indices}, {{"depth", m.random_dim()}, {"dtype", m.random_dtype(kAny)}}, 1);
}

void make_dynamic_slice(GraphMaker& m) {
  Value in = m.any(kAny, 1);
  int64_t axis = m.random_axis(in);
  const Dim size = m.shape(in)[static_cast<size_t>(axis)];
  const Dim part = random_part(m, size);
  Value start = start_of(m, size, part);
  m.emit(Op::dynamic_slice, {in, start}, {{"axis", axis}, {"size", part}}, m.bound(in));
}

void make_update_slice(GraphMaker& m) {
  Value in = m.any(kAny, 1);
  int64_t axis = m.random_axis(in);
  Type part = m.type(in);
  Dim& size = part.shape[static_cast<size_t>(axis)];
  const Dim whole = size;
  size = random_part(m, whole);
  Value update = m.of_type(part);
  Value start = start_of(m, whole, size);
  m.emit(Op::update_slice, {in, update, start}, {{"axis", axis}},
         std::max(m.bound(in), m.bound(update)));
}

void make_cross_entropy(GraphMaker& m) {
  make_position_loss(m, Op::cross_entropy, {"label_smoothing", m.one_of<double>({0.0, 0.1, 1.0})});
}

void make_focal(GraphMaker& m) {
  make_position_loss(m, Op::focal, {"gamma", m.one_of<double>({0.0, 1.0, 2.0, 3.0})});
}

void make_mse(GraphMaker& m) {
  Value prediction = m.any(kFloat);
  Value target = m.of_type(m.type(prediction));
  m.emit(Op::mse, {prediction, target}, {}, std::pow(m.bound(prediction) + m.bound(target), 2));
}

void make_sgd(GraphMaker& m) {
  Trained t = make_trained(m);
  Value velocity = m.storage(Storage::state, t.type, {Init::zeros, 0}, 6);
  Attrs attrs = {{"momentum", m.one_of<double>({0.0, 0.9})},
                 {"weight_decay", m.one_of<double>({0.0, 0.1})}};
  Value out = m.emit_final(Op::sgd, {t.param, t.grad, velocity, t.rate}, attrs);
  store(m, {t.param, velocity}, out);
}

void make_adam(GraphMaker& m) { make_adam_step(m, Op::adam); }
void make_adamw(GraphMaker& m) { make_adam_step(m, Op::adamw); }

}  // namespace weft
