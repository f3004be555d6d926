// Rules of `simplify` for views, concat and pad.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/simplify.h"

namespace weft {
namespace {

using namespace pattern;

constexpr size_t kMaxConcat = 64;  // inputs; flattening a long chain would grow quadratically

std::optional<Value> same_shape_as_before(Match& m) {
  return same_shape(m.type(x).shape, m.shape(), m.facts()) ? std::optional(m[x]) : std::nullopt;
}

std::optional<Value> identity_transpose(Match& m) {
  const std::vector<int64_t>& perm = m.root.attrs.ints("perm");
  return std::ranges::is_sorted(perm) ? std::optional(m[x]) : std::nullopt;
}

std::optional<Value> compose_transposes(Match& m) {
  const Node inner = m.node(t);
  std::vector<int64_t> perm;
  for (int64_t axis : m.root.attrs.ints("perm")) {
    perm.push_back(inner.attrs.ints("perm")[static_cast<size_t>(axis)]);
  }
  return m.out.transpose({m[x]}, {{"perm", perm}});
}

// A transpose that moves nothing but axes of size 1 leaves the elements in their order.
std::optional<Value> transpose_of_ones(Match& m) {
  const Shape in = m.type(x).shape;
  int64_t last = -1;
  for (int64_t axis : m.root.attrs.ints("perm")) {
    if (m.facts().equal(in[static_cast<size_t>(axis)], 1)) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  return m.emit(Op::reshape, {m[x]}, {{"shape", m.shape()}});
}

std::optional<Value> view_again(Match& m) { return m.emit(m.root.op, {m[x]}, m.root.attrs); }

int64_t stride_of(const Node& slice_node, size_t axis) {
  const std::vector<int64_t>& strides = slice_node.attrs.ints("strides");
  return strides.empty() ? 1 : strides[axis];
}

std::optional<Value> whole_slice(Match& m) {
  const Shape in = m.type(x).shape;
  for (size_t i = 0; i < in.size(); ++i) {
    bool whole = m.facts().equal(m.root.attrs.dims("starts")[i], 0) &&
                 m.facts().equal(m.root.attrs.dims("limits")[i], in[i]) &&
                 stride_of(m.root, i) == 1;
    if (!whole) return std::nullopt;
  }
  return m[x];
}

std::optional<Value> compose_slices(Match& m) {
  const Node inner = m.node(t);
  std::vector<Dim> starts;
  std::vector<Dim> limits;
  for (size_t i = 0; i < m.shape().size(); ++i) {
    if (stride_of(inner, i) != 1) return std::nullopt;
    const Dim& offset = inner.attrs.dims("starts")[i];
    starts.push_back(offset + m.root.attrs.dims("starts")[i]);
    limits.push_back(offset + m.root.attrs.dims("limits")[i]);
  }
  return m.emit(
      Op::slice, {m[x]},
      {{"starts", starts}, {"limits", limits}, {"strides", m.root.attrs.ints("strides")}});
}

// A position that is known and surely inside.
std::optional<Value> static_slice(Match& m) {
  double position = m.number(c);
  Shape limits = m.type(x).shape;
  std::vector<Dim> starts(limits.size(), Dim(0));
  auto axis = static_cast<size_t>(m.root.attrs.integer("axis"));
  if (position < 0 || position > 1e9) return std::nullopt;
  starts[axis] = static_cast<int64_t>(position);
  Dim end = starts[axis] + m.root.attrs.dim("size");
  if (m.facts().bounds_of(limits[axis] - end).low < 0) return std::nullopt;
  limits[axis] = end;
  return m.emit(Op::slice, {m[x]}, {{"starts", starts}, {"limits", limits}});
}

std::optional<Value> concat_of_one(Match& m) {
  return m.root.operands.size() == 1 ? std::optional(m.root.operands[0]) : std::nullopt;
}

std::optional<Value> flatten_concat(Match& m) {
  int64_t axis = m.root.attrs.integer("axis");
  std::vector<Value> inputs;
  for (Value operand : m.root.operands) {
    const Node& inner = m.out.graph().node(operand);
    bool joins =
        inner.op == Op::concat && inner.instance == 0 && inner.attrs.integer("axis") == axis;
    if (joins) {
      inputs.insert(inputs.end(), inner.operands.begin(), inner.operands.end());
    } else {
      inputs.push_back(operand);
    }
  }
  if (inputs.size() == m.root.operands.size() || inputs.size() > kMaxConcat) return std::nullopt;
  return m.emit(Op::concat, std::move(inputs), m.root.attrs);
}

std::optional<Value> empty_padding(Match& m) {
  auto zero = [&](const Dim& dim) { return m.facts().equal(dim, 0); };
  auto none = [](int64_t between) { return between == 0; };
  bool empty = std::ranges::all_of(m.root.attrs.dims("low"), zero) &&
               std::ranges::all_of(m.root.attrs.dims("high"), zero) &&
               std::ranges::all_of(m.root.attrs.ints("interior"), none);
  return empty ? std::optional(m[x]) : std::nullopt;
}

}  // namespace

std::span<const Rule> view_rules() {
  static const std::vector<Rule> kRules = {
      {"reshape-same", reshape(x), same_shape_as_before},
      {"reshape-reshape", reshape(reshape(x)), view_again},
      {"transpose-same", transpose(x), identity_transpose},
      {"transpose-transpose", transpose(transpose(x).as(t)), compose_transposes},
      {"transpose-ones", transpose(x), transpose_of_ones},
      {"broadcast-same", broadcast(x), same_shape_as_before},
      {"broadcast-broadcast", broadcast(broadcast(x)), view_again},
      {"slice-whole", slice(x), whole_slice},
      {"slice-slice", slice(slice(x).as(t)), compose_slices},
      {"dynamic-slice-constant", dynamic_slice(x, con(c)), static_slice},
      {"concat-one", concat(), concat_of_one},
      {"concat-concat", concat(), flatten_concat},
      {"pad-nothing", pad(x), empty_padding},
  };
  return kRules;
}

}  // namespace weft
