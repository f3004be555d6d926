// What an attention adds to, or hides from, each pair of positions: for one query at run time, and
// the keys that the caches hold.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/decode_positions.h"
#include "passes/decode_step.h"

namespace weft::decoding {
namespace {

// Axes of a value below another's where axes align at the right: nothing where it has none, or is
// repeated along it.
std::optional<size_t> below(std::optional<size_t> axis, size_t rank, const Shape& shape) {
  if (!axis || *axis + shape.size() < rank) return std::nullopt;
  const size_t own = *axis + shape.size() - rank;
  return shape[own].is_constant(1) ? std::nullopt : std::optional(own);
}

// The axis of `from` that a reshape shows as `axis`, if it only adds and drops axes of one element.
std::optional<size_t> before_reshape(const Shape& from, const Shape& to, size_t axis) {
  std::vector<size_t> old;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i].is_constant(1)) old.push_back(i);
  }
  size_t at = 0;
  std::optional<size_t> found;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_constant(1)) continue;
    if (at >= old.size() || from[old[at]] != to[i]) return std::nullopt;
    if (i == axis) found = old[at];
    ++at;
  }
  return at == old.size() ? found : std::nullopt;
}

}  // namespace

// Computed only where an attention asks for it.
bool StepBuilder::is_of_pairs(uint32_t node) const {
  if (d_.depends.on_tokens[node]) return false;
  return std::ranges::any_of(from_[node].types, [&](const Type& type) {
    return count_axes_with(type.shape, d_.names.length) > 1;
  });
}

Result<Value> StepBuilder::pairs(Value value, PairAxes axes, const Node& user) {
  const Shape& shape = from_.type(value).shape;
  auto has = [&](std::optional<size_t> axis) {
    return axis && mentions(shape[*axis], d_.names.length);
  };
  if (!has(axes.column)) {  // what a query alone decides
    if (count_axes_with(shape, d_.names.length) > (has(axes.row) ? 1u : 0u)) {
      return refuse(user, cat("has positions elsewhere, ", shape));
    }
    return operand(value, user);
  }
  if (d_.depends.on_tokens[value.node]) {
    return refuse(user, "has a bias for each pair of positions that depends on tokens");
  }
  const bool plain = shape[*axes.column] == Dim::symbol(d_.names.length) &&
                     count_axes_with(shape, d_.names.length) == (has(axes.row) ? 2u : 1u);
  if (!plain) return refuse(user, cat("has a bias for each pair of positions, ", shape));
  const Node& node = from_.node(value);
  if (node.op == Op::iota) return counted_pairs(node, axes);
  return mapped_pairs(node, axes, user);
}

// Row and column of each pair, as numbers: the row is where we are.
Result<Value> StepBuilder::counted_pairs(const Node& node, const PairAxes& axes) {
  std::vector<Dim> shape = node.attrs.dims("shape");
  if (axes.row) shape[*axes.row] = 1;
  shape[*axes.column] = Dim::symbol(d_.names.capacity);
  Attrs attrs = with_dims(node.attrs, one_position_);
  attrs.set("shape", std::move(shape));
  const Value count = b_.iota({}, std::move(attrs));
  const auto along = static_cast<size_t>(node.attrs.integer("axis"));
  if (axes.row != along) return count;
  return b_.add({count, b_.cast_to(position_, node.types[0].dtype)});
}

Result<Value> StepBuilder::mapped_pairs(const Node& node, const PairAxes& axes, const Node& user) {
  const Shape& shape = node.types[0].shape;
  const bool stretches = node.op == Op::broadcast || info(node.op).has(kElementwise);
  if (!stretches && node.op != Op::reshape && node.op != Op::transpose) {
    return refuse(user, cat("has a bias for each pair of positions that ", call(node), " makes"));
  }
  Node copy = node;
  copy.names.clear();
  for (Value& operand : copy.operands) {
    const Shape& from = from_.type(operand).shape;
    auto behind = [&](std::optional<size_t> axis) -> std::optional<size_t> {
      if (!axis || stretches) return below(axis, shape.size(), from);
      if (node.op == Op::reshape) return before_reshape(from, shape, *axis);
      return static_cast<size_t>(node.attrs.ints("perm")[*axis]);
    };
    const PairAxes inner = {behind(axes.row), behind(axes.column)};
    if (!stretches && !inner.column) {
      return refuse(user, cat("has a bias whose positions ", call(node), " moves"));
    }
    WEFT_TRY(operand, pairs(operand, inner, user));
  }
  if (node.op == Op::reshape || node.op == Op::broadcast) {
    std::vector<Dim> made;
    for (const Dim& dim : node.attrs.dims("shape")) made.push_back(dim.substitute(one_position_));
    if (axes.row) made[*axes.row] = 1;
    made[*axes.column] = Dim::symbol(d_.names.capacity);
    copy.attrs.set("shape", std::move(made));
  }
  return Value{b_.emit_node(std::move(copy)), 0};
}

// [.., T, T], or one of the two, to [.., 1, C].
Result<Value> StepBuilder::of_pairs(Value value, const Node& user) {
  const size_t rank = from_.type(value).shape.size();
  PairAxes axes;
  if (rank >= 1) axes.column = rank - 1;
  if (rank >= 2) axes.row = rank - 2;
  return pairs(value, axes, user);
}

}  // namespace weft::decoding
