// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_attention_tiles.h"

#include <cmath>
#include <limits>

#include "ir/support/check.h"

namespace weft::lowering {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using enum AttentionRole;

}  // namespace

AttentionTiles::AttentionTiles(const Attention& attention, const AttentionKnobs& chosen,
                               std::string name)
    : a(attention), knobs(chosen), b(name), name_(std::move(name)) {
  for (size_t axis = 0; axis < a.lead.size(); ++axis) {
    lead_.emplace_back();
    if (a.lead[axis].is_constant(1)) continue;
    lead_.back() = b.axis("x" + std::to_string(axis), a.lead[axis], tile::Extent::by(1));
  }
}

void AttentionTiles::open(tile::Extent rows, tile::Extent columns,
                          std::optional<tile::Extent> inner) {
  i = b.axis("i", a.queries, rows);
  j = b.axis("j", a.keys, columns, inner);
  d = b.axis("d", a.depth);
  e = b.axis("e", a.width);
}

tile::Extent AttentionTiles::free_knob(const std::string& name, int64_t value) {
  return b.knob(name, value, tile::Knob::free, {32, 48, 64, 96, 128});
}

tile::Extent AttentionTiles::row_knob() {
  if (a.queries.is_constant(1)) return tile::Extent::by(1);
  return free_knob("BI", knobs.block_queries);
}

std::vector<AxisId> AttentionTiles::tile(std::vector<AxisId> axes) const {
  std::erase_if(axes, [&](AxisId axis) { return b.program().is_scalar(axis); });
  return axes;
}

tile::Extent AttentionTiles::order_knob(const std::string& name, int64_t value) {
  return b.knob(name, value, tile::Knob::order);
}

void AttentionTiles::grid_lead(const AttentionTensor& tensor) {
  for (size_t axis = 0; axis < lead_.size(); ++axis) {
    if (lead_[axis] && !tensor.type.shape[axis].is_constant(1)) b.grid(*lead_[axis]);
  }
}

std::vector<ValueId> AttentionTiles::for_repeated(
    const AttentionTensor& tensor, std::vector<tile::Carry> carries,
    const std::function<std::vector<ValueId>(std::vector<ValueId>)>& body, size_t axis) {
  while (axis < lead_.size() && !(lead_[axis] && tensor.type.shape[axis].is_constant(1))) ++axis;
  if (axis == lead_.size()) {
    std::vector<ValueId> start;
    for (const tile::Carry& carry : carries) start.push_back(carry.init);
    return body(std::move(start));
  }
  return b.loop(*lead_[axis], carries, [&](std::span<const ValueId> carried) {
    std::vector<tile::Carry> inner = carries;
    for (size_t n = 0; n < inner.size(); ++n) inner[n].init = carried[n];
    return for_repeated(tensor, inner, body, axis + 1);
  });
}

BufferId AttentionTiles::buffer(AttentionRole role, tile::Buffer::Mode mode) {
  if (auto known = buffers_.find(role); known != buffers_.end()) return known->second;
  const AttentionTensor tensor = tensor_of(a, role, knobs);
  const std::string text(weft::name(role));
  BufferId id = mode == tile::Buffer::in    ? b.in(text, tensor.type, tensor.strides)
                : mode == tile::Buffer::out ? b.out(text, tensor.type, tensor.strides)
                                            : b.inout(text, tensor.type, tensor.strides);
  roles_.push_back(role);
  return buffers_[role] = id;
}

std::vector<Index> AttentionTiles::at(AttentionRole role, std::vector<Index> inner) {
  const Shape& shape = tensor_of(a, role, knobs).type.shape;
  std::vector<Index> all;
  for (size_t axis = 0; axis < lead_.size(); ++axis) all.push_back(lead_at(shape[axis], axis));
  for (Index& index : inner) {
    const tile::Index::Term& term = index.terms.at(0);
    const bool repeats = shape[all.size()].is_constant(1) && term.kind == Index::Term::axis &&
                         !b.program().axes[term.axis_id].dim.is_constant(1);
    all.push_back(repeats ? Index(0) : std::move(index));
  }
  WEFT_CHECK(all.size() == shape.size(), "an index for each dim of " + std::string(name(role)));
  return all;
}

Index AttentionTiles::lead_at(const Dim& size, size_t axis) const {
  return lead_[axis] && !size.is_constant(1) ? tile::axis_index(*lead_[axis]) : Index(0);
}

ValueId AttentionTiles::load(AttentionRole role, std::vector<Index> inner) {
  const BufferId from = buffer(role);
  return b.cast(b.load(from, at(role, std::move(inner))), DType::f32);
}

void AttentionTiles::store(AttentionRole role, std::vector<Index> inner, ValueId value) {
  const BufferId to = buffer(role, tile::Buffer::out);
  b.store(to, at(role, std::move(inner)), b.cast(value, b.buffer(to).dtype));
}

ValueId AttentionTiles::scaled(AttentionRole role, AxisId rows) {
  const ValueId tile = load(role, {b.at(rows), b.at(d)});
  return a.scale == 1 ? tile : mul(tile, real(a.scale));
}

ValueId AttentionTiles::length() {
  const ValueId given = b.load(buffer(lengths), at(lengths, {}));
  if (b.dtype(given) == DType::i32) return given;
  const ValueId limit = b.dim(a.keys, DType::i64);
  const ValueId some = b.map(Op::maximum, {given, b.integer(0, DType::i64)});
  return b.cast(b.map(Op::minimum, {some, limit}), DType::i32);
}

ValueId AttentionTiles::masked(ValueId value, double fill) {
  const BufferId from = buffer(mask);
  const ValueId taken = b.load(from, at(mask, {b.at(i), b.at(j)}));
  return b.map(Op::select, {taken, value, real(fill)});
}

// Minus infinity outside of the window and of the keys that exist.
ValueId AttentionTiles::excluded(ValueId value) {
  std::optional<ValueId> taken;
  auto also = [&](ValueId condition) {
    taken = taken ? b.map(Op::logical_and, {*taken, condition}) : condition;
  };
  const Dim shift = a.keys - a.queries;
  const ValueId column = b.coord(b.at(j));
  if (a.after) also(b.map(Op::le, {column, b.coord(b.at(i) + Index(shift + *a.after))}));
  if (a.before) also(b.map(Op::le, {b.coord(b.at(i) + Index(shift - *a.before)), column}));
  if (a.lengths) also(b.map(Op::lt, {column, length()}));
  return taken ? b.map(Op::select, {*taken, value, real(-kInfinity)}) : value;
}

ValueId AttentionTiles::finite(ValueId largest) {
  const ValueId none = b.map(Op::eq, {largest, real(-kInfinity)});
  return b.map(Op::select, {none, real(0), largest});
}

ValueId AttentionTiles::scores(ValueId product) {
  ValueId value = product;
  if (a.bias) value = add(value, load(bias, {b.at(i), b.at(j)}));
  if (a.mask) value = masked(value, a.fill);
  return excluded(value);
}

std::optional<ValueId> AttentionTiles::keep_factor() {
  if (a.dropout == 0) return std::nullopt;
  const BufferId from = buffer(rng);
  Index element = 0;
  for (size_t axis = 0; axis < lead_.size(); ++axis) {
    element = element * a.lead[axis] + lead_at(a.lead[axis], axis);
  }
  element = (element * a.queries + b.at(i)) * a.keys + b.at(j);
  const ValueId bits = b.random(b.load(from, {0}), b.load(from, {1}), a.stream, element);
  const double last_dropped = std::ceil(std::ldexp(a.dropout, 32)) - 1;
  const ValueId dropped = b.map(Op::le, {bits, b.constant(last_dropped, DType::u32)});
  return b.map(Op::select, {dropped, real(0), real(1 / (1 - a.dropout))});
}

AttentionTiles::Gradients AttentionTiles::gradients(ValueId product, ValueId d_weights) {
  ValueId log_weights = scores(product);
  if (a.may_lose_digits()) {
    log_weights = sub(sub(log_weights, load(largest, {b.at(i)})), load(log_sum, {b.at(i)}));
  } else {
    log_weights = sub(log_weights, load(lse, {b.at(i)}));
  }
  const ValueId weights = b.map(Op::exp, {log_weights});
  const std::optional<ValueId> keep = keep_factor();
  const ValueId d_kept = keep ? mul(d_weights, *keep) : d_weights;
  ValueId d_scores = mul(weights, sub(d_kept, load(delta, {b.at(i)})));
  if (a.mask && a.fill != -kInfinity) d_scores = masked(d_scores, 0);
  return {keep ? mul(weights, *keep) : weights, d_scores};
}

tile::LoopRange AttentionTiles::columns_of_rows() {
  tile::LoopRange range;
  const Dim shift = a.keys - a.queries;
  if (a.before) range.from = tile::base_index(i) + Index(shift - *a.before);
  if (a.after) range.to = tile::end_index(i) + Index(shift + *a.after);
  if (!a.lengths) return range;
  ValueId end = length();
  if (range.to) end = b.map(Op::minimum, {end, b.coord(*range.to)});
  range.to = tile::value_index(end);
  return range;
}

tile::LoopRange AttentionTiles::rows_of_columns() {
  tile::LoopRange range;
  const Dim shift = a.keys - a.queries;
  if (a.after) range.from = tile::base_index(j) - Index(shift + *a.after);
  if (a.before) range.to = tile::end_index(j) + Index(*a.before - shift);
  if (!a.lengths) return range;
  const ValueId some = b.map(Op::lt, {b.coord(tile::base_index(j)), length()});
  const ValueId end = b.coord(range.to ? *range.to : Index(a.queries));
  range.to = tile::value_index(b.map(Op::select, {some, end, b.integer(0, DType::i32)}));
  return range;
}

std::optional<ValueId> AttentionTiles::some_taken() {
  const Dim shift = a.keys - a.queries;
  std::optional<ValueId> taken;
  if (a.after) {
    const Index last = tile::end_index(i) + Index(shift + *a.after - Dim(1));
    taken = b.map(Op::le, {b.coord(tile::base_index(j)), b.coord(last)});
  }
  if (a.before) {
    const Index first = tile::base_index(i) + Index(shift - *a.before);
    const ValueId late = b.map(Op::lt, {b.coord(first), b.coord(tile::end_index(j))});
    taken = taken ? b.map(Op::logical_and, {*taken, late}) : late;
  }
  return taken;
}

AttentionProgram AttentionTiles::finish() { return {b.finish(), std::move(roles_)}; }

}  // namespace weft::lowering
