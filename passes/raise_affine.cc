// SPDX-License-Identifier: Apache-2.0
#include "passes/raise_affine.h"

#include <algorithm>

namespace weft {
namespace {

bool is_one(const Dim& dim) { return dim.is_constant(1); }

std::vector<size_t> wide_axes(const Shape& shape) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!is_one(shape[i])) axes.push_back(i);
  }
  return axes;
}

}  // namespace

bool moves_only_ones(const Shape& from, const Shape& to) {
  std::vector<size_t> a = wide_axes(from);
  std::vector<size_t> b = wide_axes(to);
  return std::ranges::equal(a, b, [&](size_t x, size_t y) { return from[x] == to[y]; });
}

Affine combine(const Affine& a, const Affine& b, int64_t factor) {
  Affine out{a.constant + b.constant * Dim(factor),
             std::vector<int64_t>(std::max(a.along.size(), b.along.size()), 0)};
  size_t rank = out.along.size();
  for (size_t i = 0; i < a.along.size(); ++i) out.along[rank - a.along.size() + i] += a.along[i];
  for (size_t i = 0; i < b.along.size(); ++i) {
    out.along[rank - b.along.size() + i] += factor * b.along[i];
  }
  return out;
}

namespace {

std::optional<Affine> affine_reshape(const Affine& in, const Shape& from, const Shape& to) {
  if (!moves_only_ones(from, to)) return std::nullopt;
  Affine out{in.constant, std::vector<int64_t>(to.size(), 0)};
  std::vector<size_t> a = wide_axes(from);
  std::vector<size_t> b = wide_axes(to);
  for (size_t i = 0; i < a.size(); ++i) out.along[b[i]] = in.along[a[i]];
  return out;
}

std::optional<Affine> affine_view(const Graph& graph, const Node& node) {
  std::optional<Affine> in = affine(graph, node.operands[0]);
  if (!in) return std::nullopt;
  const Shape& from = graph.type(node.operands[0]).shape;
  const Shape& to = node.types[0].shape;
  Affine out{in->constant, std::vector<int64_t>(to.size(), 0)};
  switch (node.op) {
    case Op::reshape: return affine_reshape(*in, from, to);
    case Op::transpose:
      for (size_t i = 0; i < to.size(); ++i) {
        out.along[i] = in->along[static_cast<size_t>(node.attrs.ints("perm")[i])];
      }
      return out;
    case Op::broadcast:
      for (size_t i = 0; i < from.size(); ++i) {
        if (!is_one(from[i])) out.along[to.size() - from.size() + i] = in->along[i];
      }
      return out;
    default: break;
  }
  for (size_t i = 0; i < to.size(); ++i) {  // slice
    const std::vector<int64_t>& strides = node.attrs.ints("strides");
    out.constant = out.constant + node.attrs.dims("starts")[i] * Dim(in->along[i]);
    out.along[i] = is_one(to[i]) ? 0 : in->along[i] * (strides.empty() ? 1 : strides[i]);
  }
  return out;
}

std::optional<Affine> whole_number(const Node& node) {
  const Numbers& numbers = node.attrs.numbers("value");
  if (numbers.size() != 1) return std::nullopt;
  double number =
      std::visit([](const auto& v) { return static_cast<double>(v[0]); }, numbers.values);
  auto whole = static_cast<int64_t>(std::clamp(number, -1e9, 1e9));
  if (static_cast<double>(whole) != number) return std::nullopt;
  return Affine{Dim(whole), std::vector<int64_t>(node.types[0].rank(), 0)};
}

// Types that hold positions and their differences, one by one.
bool counts(DType dtype) {
  return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::f32 || dtype == DType::f64;
}

}  // namespace

std::optional<Affine> affine(const Graph& graph, Value value) {
  const Node& node = graph.node(value);
  if (!counts(node.types[0].dtype)) return std::nullopt;
  if (node.op == Op::constant) return whole_number(node);
  if (node.op == Op::iota) {
    const Shape& shape = node.types[0].shape;
    Affine out{0, std::vector<int64_t>(shape.size(), 0)};
    auto axis = static_cast<size_t>(node.attrs.integer("axis"));
    if (!is_one(shape[axis])) out.along[axis] = 1;
    return out;
  }
  if (info(node.op).has(kView)) return affine_view(graph, node);
  if (node.op == Op::cast) return affine(graph, node.operands[0]);
  if (node.op == Op::neg) {
    std::optional<Affine> in = affine(graph, node.operands[0]);
    return in ? std::optional(combine({}, *in, -1)) : std::nullopt;
  }
  if (node.op != Op::add && node.op != Op::sub && node.op != Op::mul) return std::nullopt;
  std::optional<Affine> a = affine(graph, node.operands[0]);
  std::optional<Affine> b = affine(graph, node.operands[1]);
  if (!a || !b) return std::nullopt;
  if (node.op != Op::mul) return combine(*a, *b, node.op == Op::add ? 1 : -1);
  auto is_number = [](const Affine& x) {
    return x.constant.is_constant() &&
           std::ranges::all_of(x.along, [](int64_t factor) { return factor == 0; });
  };
  if (!is_number(*a)) std::swap(a, b);
  if (!is_number(*a)) return std::nullopt;
  return combine({}, *b, a->constant.constant());
}

}  // namespace weft
