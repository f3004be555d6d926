// SPDX-License-Identifier: Apache-2.0
#include "passes/views.h"

#include <algorithm>

#include "ir/tile/program.h"

namespace weft {
namespace {

// The axes that are not of size 1, whose coordinate is always 0.
std::vector<size_t> moving_axes(const Shape& shape) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1)) axes.push_back(i);
  }
  return axes;
}

bool surely_empty(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Dim& dim) { return dim.is_constant(0); });
}

// products[i] = size of axes[0] * .. * axes[i - 1].
std::vector<Dim> prefix_products(const Shape& shape, const std::vector<size_t>& axes) {
  std::vector<Dim> products = {1};
  for (size_t axis : axes) products.push_back(products.back() * shape[axis]);
  return products;
}

// These axes walk memory as one axis would.
bool one_run(const Shape& shape, const std::vector<Dim>& strides, const std::vector<size_t>& axes,
             const DimFacts& facts) {
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    const size_t inner = axes[i + 1];
    if (!facts.equal(strides[axes[i]], strides[inner] * shape[inner])) return false;
  }
  return true;
}

std::optional<View> through_reshape(const View& view, const Shape& from, const Shape& to,
                                    const DimFacts& facts) {
  if (surely_empty(to)) return View{view.base, view.offset, row_major_strides(to)};
  View result{view.base, view.offset, std::vector<Dim>(to.size())};
  for (const ReshapeGroup& group : reshape_groups(from, to, facts)) {
    if (!one_run(from, view.strides, group.from, facts)) return std::nullopt;
    Dim stride = view.strides[group.from.back()];
    for (size_t i = group.to.size(); i-- > 0;) {
      result.strides[group.to[i]] = stride;
      stride = stride * to[group.to[i]];
    }
  }
  return result;
}

View through_transpose(const View& view, const std::vector<int64_t>& perm) {
  View result{view.base, view.offset, {}};
  for (int64_t axis : perm) result.strides.push_back(view.strides[static_cast<size_t>(axis)]);
  return result;
}

View through_slice(const View& view, const Attrs& attrs) {
  View result = view;
  const std::vector<int64_t>& steps = attrs.ints("strides");
  for (size_t i = 0; i < result.strides.size(); ++i) {
    result.offset = result.offset + attrs.dims("starts")[i] * result.strides[i];
    if (!steps.empty()) result.strides[i] = result.strides[i] * steps[i];
  }
  return result;
}

View through_broadcast(const View& view, const Shape& from, const Shape& to) {
  View result{view.base, view.offset, std::vector<Dim>(to.size())};
  size_t fresh = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    bool repeats = from[i].is_constant(1);
    result.strides[fresh + i] = repeats ? Dim(0) : view.strides[i];
  }
  return result;
}

// The view of a view op's result, given that of its operand.
std::optional<View> through(const Graph& graph, const Node& node, const View& view,
                            const DimFacts& facts) {
  const Shape& from = graph.type(node.operands[0]).shape;
  const Shape& to = node.types[0].shape;
  std::optional<View> result;
  switch (node.op) {
    case Op::reshape: result = through_reshape(view, from, to, facts); break;
    case Op::transpose: result = through_transpose(view, node.attrs.ints("perm")); break;
    case Op::slice: result = through_slice(view, node.attrs); break;
    case Op::broadcast: result = through_broadcast(view, from, to); break;
    default: WEFT_CHECK(false, "not a view: " + std::string(name(node.op)));
  }
  if (!result) return std::nullopt;
  auto overflowed = [](const Dim& dim) { return dim.overflowed(); };
  if (overflowed(result->offset) || std::ranges::any_of(result->strides, overflowed)) {
    return std::nullopt;
  }
  return result;
}

View own_base(const Graph& graph, Value value) {
  return {value, Dim(0), row_major_strides(graph.type(value).shape)};
}

struct Followed {
  View view;
  bool last_step = false;  // the value's own op was followed, not only those below it
};

Followed follow(const Graph& graph, Value value, const DimFacts& facts) {
  std::vector<Value> chain = {value};
  while (info(graph.node(chain.back()).op).has(kView)) {
    chain.push_back(graph.node(chain.back()).operands[0]);
  }
  Followed followed{own_base(graph, chain.back()), false};
  for (size_t i = chain.size() - 1; i-- > 0;) {
    std::optional<View> next = through(graph, graph.node(chain[i]), followed.view, facts);
    followed.last_step = next.has_value();
    followed.view = next ? std::move(*next) : own_base(graph, chain[i]);
  }
  return followed;
}

}  // namespace

std::vector<Dim> row_major_strides(const Shape& shape) { return tile::row_major_strides(shape); }

std::vector<ReshapeGroup> reshape_groups(const Shape& from, const Shape& to,
                                         const DimFacts& facts) {
  const std::vector<size_t> from_axes = moving_axes(from);
  const std::vector<size_t> to_axes = moving_axes(to);
  if (from_axes.empty() || to_axes.empty()) return {};
  if (surely_empty(from)) return {{from_axes, to_axes}};  // no product tells anything apart
  const std::vector<Dim> before = prefix_products(from, from_axes);
  const std::vector<Dim> after = prefix_products(to, to_axes);
  std::vector<ReshapeGroup> groups = {{}};
  size_t j = 0;
  for (size_t i = 0; i < from_axes.size(); ++i) {
    groups.back().from.push_back(from_axes[i]);
    size_t end = j + 1;
    while (end < to_axes.size() && !facts.equal(before[i + 1], after[end])) ++end;
    // What is left on either side when the other ends belongs to the last group.
    if (end >= to_axes.size() || i + 1 == from_axes.size()) continue;
    while (j < end) groups.back().to.push_back(to_axes[j++]);
    groups.emplace_back();
  }
  while (j < to_axes.size()) groups.back().to.push_back(to_axes[j++]);
  return groups;
}

View view_of(const Graph& graph, Value value, const DimFacts& facts) {
  return follow(graph, value, facts).view;
}

bool is_free_view(const Graph& graph, Value value, const DimFacts& facts) {
  return follow(graph, value, facts).last_step;
}

bool is_contiguous(const View& view, const Shape& shape, const DimFacts& facts) {
  if (surely_empty(shape)) return true;
  const std::vector<size_t> axes = moving_axes(shape);
  if (axes.empty()) return true;
  return view.strides[axes.back()].is_constant(1) && one_run(shape, view.strides, axes, facts);
}

}  // namespace weft
