// SPDX-License-Identifier: Apache-2.0
#include "passes/decode_positions.h"

#include <algorithm>
#include <set>

namespace weft {
namespace {

using Axes = std::vector<size_t>;

Axes all_axes(const Shape& shape) {
  Axes axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  return axes;
}

Axes named_axes(const Node& node) {
  Axes axes;
  if (node.attrs.find("axis") != nullptr) {
    axes.push_back(static_cast<size_t>(node.attrs.integer("axis")));
  } else {
    for (int64_t axis : node.attrs.ints("axes")) axes.push_back(static_cast<size_t>(axis));
  }
  return axes;
}

// Axes along which a result reads more than one element of the operand.
Axes mixed_axes(const Graph& graph, const Node& node, size_t operand) {
  const Shape& shape = graph.type(node.operands[operand]).shape;
  const size_t last = shape.empty() ? 0 : shape.size() - 1;
  if (info(node.op).has(kElementwise)) return {};
  switch (node.op) {
    case Op::reshape:
    case Op::transpose:
    case Op::broadcast:
    case Op::one_hot: return {};
    case Op::matmul: return {operand == 0 ? last : last - 1};
    case Op::layer_norm:
    case Op::rms_norm: return {last};
    case Op::gather: return operand == 0 ? named_axes(node) : Axes{};
    case Op::concat:
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
    case Op::argmax:
    case Op::cumsum:
    case Op::sum:
    case Op::mean:
    case Op::max:
    case Op::min:
    case Op::prod:
    case Op::any:
    case Op::all: return named_axes(node);
    case Op::top_k: return {last};
    case Op::take_along_axis:
    case Op::dynamic_slice: return operand == 0 ? named_axes(node) : Axes{};
    default: return all_axes(shape);
  }
}

// A slice that takes an axis of positions whole leaves them where they are.
bool slices_positions(const Graph& graph, const Node& node, const std::string& positions) {
  const Shape& shape = graph.type(node.operands[0]).shape;
  const std::vector<Dim>& starts = node.attrs.dims("starts");
  const std::vector<Dim>& limits = node.attrs.dims("limits");
  const std::vector<int64_t>& strides = node.attrs.ints("strides");
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool whole =
        starts[i].is_constant(0) && limits[i] == shape[i] && (strides.empty() || strides[i] == 1);
    if (mentions(shape[i], positions) && !whole) return true;
  }
  return false;
}

Dim elements_behind(const Shape& shape, size_t axis) {
  return element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
}

// Whether what a shape with an axis T of its own has at a position stays together in the other
// shape, where T may be part of a longer axis: [B, T, D] and [B*T, D], but not [B, D, T].
bool keeps_positions(const Shape& plain, size_t axis, const Shape& other, const Dim& positions,
                     const std::string& symbol) {
  for (size_t i = 0; i < other.size(); ++i) {
    if (!mentions(other[i], symbol)) continue;
    const std::optional<Dim> inner =
        Dim::exact_quotient(elements_behind(plain, axis), elements_behind(other, i));
    return inner && Dim::exact_quotient(other[i], positions * *inner).has_value();
  }
  return true;
}

bool reshapes_positions(const Shape& from, const Shape& to, const std::string& symbol) {
  const Dim positions = Dim::symbol(symbol);
  if (auto axis = axis_of(from, symbol)) {
    return !keeps_positions(from, *axis, to, positions, symbol);
  }
  if (auto axis = axis_of(to, symbol)) {
    return !keeps_positions(to, *axis, from, positions, symbol);
  }
  return from != to && count_axes_with(from, symbol) > 0;
}

}  // namespace

bool mentions(const Dim& dim, const std::string& symbol) {
  std::set<std::string> symbols;
  dim.collect_symbols(symbols);
  return symbols.contains(symbol);
}

size_t count_axes_with(const Shape& shape, const std::string& symbol) {
  return static_cast<size_t>(
      std::ranges::count_if(shape, [&](const Dim& dim) { return mentions(dim, symbol); }));
}

std::optional<size_t> axis_of(const Shape& shape, const std::string& symbol) {
  std::optional<size_t> found;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != Dim::symbol(symbol)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

Attrs with_dims(const Attrs& attrs, const std::map<std::string, Dim>& replacements) {
  Attrs result = attrs;
  for (const Attr& attr : attrs) {
    if (const auto* dim = std::get_if<Dim>(&attr.value)) {
      result.set(attr.name, dim->substitute(replacements));
    } else if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value)) {
      std::vector<Dim> replaced;
      for (const Dim& one : *dims) replaced.push_back(one.substitute(replacements));
      result.set(attr.name, std::move(replaced));
    }
  }
  return result;
}

std::optional<std::string> mixes_positions(const Graph& graph, const Node& node,
                                           const std::string& positions) {
  for (const Type& type : node.types) {
    if (count_axes_with(type.shape, positions) > 1) {
      return cat("has several axes of positions, ", type.shape);
    }
  }
  if (info(node.op).has(kRandom)) return "is random";
  const bool counts =
      node.op == Op::causal_mask || node.op == Op::window_mask || node.op == Op::padding_mask;
  if (counts && count_axes_with(node.types[0].shape, positions) > 0) {
    return "compares positions outside of attention";
  }
  if (node.op == Op::slice) {
    if (!slices_positions(graph, node, positions)) return std::nullopt;
    return "takes some of the positions";
  }
  if (node.op == Op::reshape &&
      reshapes_positions(graph.type(node.operands[0]).shape, node.types[0].shape, positions)) {
    return cat("moves elements between positions, from ", graph.type(node.operands[0]).shape,
               " to ", node.types[0].shape);
  }
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Shape& shape = graph.type(node.operands[i]).shape;
    for (size_t axis : mixed_axes(graph, node, i)) {
      if (axis < shape.size() && mentions(shape[axis], positions)) {
        return cat("mixes the positions of ", shape, " along axis ", axis);
      }
    }
  }
  return std::nullopt;
}

}  // namespace weft
