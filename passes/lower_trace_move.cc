// Tracing what only moves elements: views, concat, pad and reads at computed positions.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/support/check.h"
#include "passes/lower_trace.h"

namespace weft::lowering {

using tile::kNone;

namespace {

Coordinates before_slice(const Attrs& attrs, const Coordinates& at) {
  Coordinates result;
  const std::vector<int64_t>& steps = attrs.ints("strides");
  for (size_t i = 0; i < at.size(); ++i) {
    result.push_back(at[i] * Dim(steps.empty() ? 1 : steps[i]) + attrs.dims("starts")[i]);
  }
  return result;
}

Coordinates before_transpose(const Attrs& attrs, const Coordinates& at) {
  const std::vector<int64_t>& perm = attrs.ints("perm");
  Coordinates result(at.size());
  for (size_t i = 0; i < at.size(); ++i) result[static_cast<size_t>(perm[i])] = at[i];
  return result;
}

bool surely_empty(const Shape& shape) {
  return std::ranges::any_of(shape, [](const Dim& dim) { return dim.is_constant(0); });
}

}  // namespace

Coordinates Tracer::across_reshape(const Shape& wanted, const Shape& known, const Coordinates& at) {
  Coordinates result(wanted.size());
  if (surely_empty(wanted)) return result;
  for (const ReshapeGroup& group : reshape_groups(wanted, known, region_.facts())) {
    Index rest;
    for (size_t axis : group.to) rest = rest * known[axis] + at[axis];
    const Index whole = rest;
    Shape sizes;
    for (size_t axis : group.from) sizes.push_back(wanted[axis]);
    bool divided = false;
    for (size_t i = group.from.size(); i-- > 1;) {
      Index& own = result[group.from[i]];
      own = tile::mod(space_.fine_axes(), rest, sizes[i]);
      rest = tile::floor_div(space_.fine_axes(), rest, sizes[i]);
      divided = divided || !tile::is_affine(own) || !tile::is_affine(rest);
    }
    result[group.from[0]] = rest;
    if (divided) space_.ask_split(whole, sizes);
  }
  return result;
}

ValueId Tracer::emit_view(const Node& node, const Request& request) {
  const Shape from = region_.shape(node.operands[0]);
  const Shape to = region_.shape(request.value);
  Coordinates at;
  switch (node.op) {
    case Op::reshape: at = across_reshape(from, to, request.at); break;
    case Op::transpose: at = before_transpose(node.attrs, request.at); break;
    case Op::slice: at = before_slice(node.attrs, request.at); break;
    case Op::broadcast: at = broadcast_from(from, to, request.at); break;
    default: WEFT_CHECK(false, "not a view: " + std::string(name(node.op)));
  }
  return need(node.operands[0], at, request.where);
}

ValueId Tracer::predicate(Op op, std::vector<ValueId> operands) {
  const std::pair key(op, operands);
  for (const Known& known : known_) {
    auto found = known.predicates.find(key);
    if (found != known.predicates.end()) return found->second;
  }
  return known_.back().predicates[key] = b_.map(op, std::move(operands));
}

ValueId Tracer::compare(Op op, const Index& left, const Index& right) {
  auto is_small = [&](const Index& index) {
    std::optional<tile::IndexRange> range = tile::range_of(space_.fine_axes(), index);
    return range && region_.facts().bounds_of(range->high).high <= INT32_MAX &&
           region_.facts().bounds_of(range->low).low >= -INT32_MAX;
  };
  // SIMT devices count places in 31 bits, and refuse sizes beyond; some have no longer integers.
  const bool small = region_.device.simt || (is_small(left) && is_small(right));
  const DType dtype = small ? DType::i32 : DType::i64;
  return predicate(op, {coord(left, dtype), coord(right, dtype)});
}

ValueId Tracer::both(ValueId a, ValueId b) {
  if (a == kNone) return b;
  if (b == kNone) return a;
  return predicate(Op::logical_and, {a, b});
}

ValueId Tracer::emit_concat(const Node& node, const Request& request) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  struct Piece {
    Value value;
    Index own;             // coordinate along the axis in this piece
    ValueId ends = kNone;  // true before its end; none for the last
  };
  std::vector<Piece> pieces;
  Dim first;
  for (Value operand : node.operands) {
    const Dim size = region_.shape(operand)[axis];
    const Index own = request.at[axis] - Index(first);
    first = first + size;
    if (size.is_constant(0)) continue;
    pieces.push_back({operand, own, kNone});
    if (!tile::surely_within(space_.fine_axes(), own, size)) continue;
    pieces = {pieces.back()};  // it is this one and no other
    break;
  }
  if (pieces.empty()) return b_.constant(0, node.types[0].dtype);  // no element exists
  ValueId begun = kNone;  // true from the start of the piece on
  std::vector<ValueId> values;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    ValueId where = both(request.where, begun);
    if (i + 1 < pieces.size()) {
      piece.ends = compare(Op::lt, piece.own, region_.shape(piece.value)[axis]);
      where = both(where, piece.ends);
      begun = predicate(Op::logical_not, {piece.ends});
    }
    Coordinates at = request.at;
    at[axis] = piece.own;
    values.push_back(need(piece.value, at, where));
  }
  if (!missing_.empty()) return kNone;
  ValueId result = values.back();
  for (size_t i = pieces.size() - 1; i-- > 0;) {
    result = b_.map(Op::select, {pieces[i].ends, values[i], result});
  }
  return result;
}

ValueId Tracer::emit_pad(const Node& node, const Request& request) {
  const Shape from = region_.shape(node.operands[0]);
  const std::vector<int64_t>& interior = node.attrs.ints("interior");
  ValueId inside = kNone;
  Coordinates at;
  for (size_t i = 0; i < from.size(); ++i) {
    const Dim step = 1 + (interior.empty() ? 0 : interior[i]);
    const Index own = request.at[i] - Index(node.attrs.dims("low")[i]);
    const Dim span = (from[i] - 1) * step + 1;
    if (!tile::surely_within(space_.fine_axes(), own, span)) {
      inside = both(inside, compare(Op::le, 0, own));
      inside = both(inside, compare(Op::lt, own, span));
    }
    at.push_back(tile::floor_div(space_.fine_axes(), own, step));
    const Index between = tile::mod(space_.fine_axes(), own, step);
    if (!(between == Index(0))) inside = both(inside, compare(Op::eq, between, 0));
  }
  const ValueId value = need(node.operands[0], at, both(request.where, inside));
  if (value == kNone) return kNone;
  if (inside == kNone) return value;
  const ValueId fill = b_.constant(node.attrs.real("value"), node.types[0].dtype);
  return b_.map(Op::select, {inside, value, fill});
}

// An index of `in` along the axis is checked by the load of what `in` is made of.
bool Tracer::is_checked(Value in, size_t axis) const {
  const Graph& body = region_.body();
  std::vector<std::pair<Value, size_t>> open = {{in, axis}};
  while (!open.empty()) {
    const auto [value, at] = open.back();
    open.pop_back();
    const Node& node = body.node(value);
    if (node.op == Op::input) return true;
    if (!info(node.op).has(kElementwise) || region_.shape(value)[at].is_constant(1)) continue;
    const size_t behind = region_.shape(value).size() - at;
    for (Value operand : node.operands) {
      const Shape shape = region_.shape(operand);
      if (shape.size() < behind || shape[shape.size() - behind].is_constant(1)) continue;
      open.emplace_back(operand, shape.size() - behind);
    }
  }
  return false;
}

Index Tracer::checked(ValueId index, Value in, size_t axis, Dim limit, ValueId where) {
  if (is_checked(in, axis)) return tile::value_index(index);
  if (where != kNone) {  // where nothing is read any index will do
    limit = Dim::max(limit, 1);
    index = predicate(Op::select, {where, index, coord(0, b_.dtype(index))});
  }
  const std::pair key(index, limit);
  for (const Known& known : known_) {
    auto found = known.checked.find(key);
    if (found != known.checked.end()) return tile::value_index(found->second);
  }
  return tile::value_index(known_.back().checked[key] = b_.checked(index, limit));
}

ValueId Tracer::emit_gather(const Node& node, const Request& request) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const Shape from = region_.shape(node.operands[0]);
  const size_t rank = region_.shape(node.operands[1]).size();
  auto begin = request.at.begin() + static_cast<ptrdiff_t>(axis);
  auto end = begin + static_cast<ptrdiff_t>(rank);
  const ValueId index = need(node.operands[1], Coordinates(begin, end), request.where);
  if (index == kNone) return kNone;
  Coordinates at(request.at.begin(), begin);
  at.push_back(checked(index, node.operands[0], axis, from[axis], request.where));
  at.insert(at.end(), end, request.at.end());
  return need(node.operands[0], at, request.where);
}

ValueId Tracer::emit_take_along(const Node& node, const Request& request) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const ValueId index = need(node.operands[1], request.at, request.where);
  if (index == kNone) return kNone;
  Coordinates at = request.at;
  const Dim limit = region_.shape(node.operands[0])[axis];
  at[axis] = checked(index, node.operands[0], axis, limit, request.where);
  return need(node.operands[0], at, request.where);
}

ValueId Tracer::emit_dynamic_slice(const Node& node, const Request& request) {
  const auto axis = static_cast<size_t>(node.attrs.integer("axis"));
  const ValueId start = need(node.operands[1], {}, request.where);
  if (start == kNone) return kNone;
  const Dim starts = region_.shape(node.operands[0])[axis] - region_.shape(request.value)[axis] + 1;
  Coordinates at = request.at;
  at[axis] = at[axis] + checked(start, node.operands[0], axis, starts, request.where);
  return need(node.operands[0], at, request.where);
}

}  // namespace weft::lowering
