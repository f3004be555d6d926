// Random views, leaves, masks, patches and randomness.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tests/support/graph_maker.h"

namespace weft {
namespace {

// The same elements under another shape: one axis joined with the next, split, added or removed.
Shape reshaped(GraphMaker& m, Shape shape) {
  auto rank = static_cast<int64_t>(shape.size());
  const int64_t at = m.below(rank + 1);
  auto place = shape.begin() + at;
  switch (m.below(5)) {
    case 0: return {element_count(shape)};
    case 1:
      if (at + 1 >= rank) break;
      *place = *place * *(place + 1);
      shape.erase(place + 1);
      return shape;
    case 2: {
      if (at >= rank || !place->is_constant()) break;
      int64_t size = place->constant();
      int64_t factor = size % 2 == 0 ? 2 : size;
      *place = size / factor;
      shape.insert(place + 1, Dim(factor));
      return shape;
    }
    case 3: {
      auto one = std::ranges::find(shape, Dim(1));
      if (one == shape.end()) break;
      shape.erase(one);
      return shape;
    }
    default: break;
  }
  if (rank < 5) shape.insert(place, Dim(1));
  return shape;
}

// A part of an axis that is never empty.
struct Part {
  Dim start;
  Dim limit;
  int64_t stride = 1;
};

Part random_part(GraphMaker& m, const Dim& size) {
  Part part{0, size, 1};
  int64_t least = m.low(size);
  if (least > 1 && m.chance(0.4)) part.start = m.between(1, least - 1);
  least -= m.low(part.start);
  if (least > 1 && m.chance(0.4)) part.limit = size - m.between(1, least - 1);
  if (m.chance(0.1)) part.limit = part.start + 1;
  if (m.chance(0.2)) part.stride = m.between(2, 3);
  return part;
}

struct Windows {
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
};

Windows random_windows(GraphMaker& m, const Dim& height, const Dim& width) {
  Windows windows;
  for (const Dim& extent : {height, width}) {
    windows.size.push_back(m.between(1, std::min<int64_t>(m.low(extent), 3)));
    windows.stride.push_back(m.between(1, 3));
  }
  return windows;
}

Dim image_size(GraphMaker& m) { return m.chance(0.4) ? Dim::symbol("T") : Dim(m.between(2, 5)); }

Value random_state(GraphMaker& m) { return m.of_type({DType::u32, {Dim(2)}}); }

}  // namespace

void make_reshape(GraphMaker& m) {
  Value in = m.any(kAny);
  m.emit(Op::reshape, {in}, {{"shape", reshaped(m, m.shape(in))}});
}

void make_transpose(GraphMaker& m) {
  Value in = m.any(kAny, m.chance(0.9) ? 2 : 0);
  std::vector<int64_t> perm(m.shape(in).size());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  for (size_t i = perm.size(); i > 1; --i) {
    std::swap(perm[i - 1], perm[static_cast<size_t>(m.below(static_cast<int64_t>(i)))]);
  }
  m.emit(Op::transpose, {in}, {{"perm", perm}});
}

void make_broadcast(GraphMaker& m) {
  Value in = m.any(kAny);
  Shape shape = m.shape(in);
  for (Dim& dim : shape) {
    if (dim.is_constant(1)) dim = m.random_dim();
  }
  while (shape.size() < 4 && m.chance(0.6)) shape.insert(shape.begin(), m.random_dim());
  if (m.high_count(shape) > 1000) shape = m.shape(in);
  m.emit(Op::broadcast, {in}, {{"shape", shape}});
}

void make_slice(GraphMaker& m) {
  Value in = m.any(kAny, m.chance(0.95) ? 1 : 0);
  std::vector<Dim> starts;
  std::vector<Dim> limits;
  std::vector<int64_t> strides;
  for (const Dim& size : Shape(m.shape(in))) {
    Part part = random_part(m, size);
    starts.push_back(part.start);
    limits.push_back(part.limit);
    strides.push_back(part.stride);
  }
  if (std::ranges::count(strides, 1) == std::ssize(strides)) strides.clear();
  m.emit(Op::slice, {in}, {{"starts", starts}, {"limits", limits}, {"strides", strides}});
}

void make_concat(GraphMaker& m) {
  Value first = m.any(kAny, 1);
  int64_t axis = m.random_axis(first);
  std::vector<Value> inputs = {first};
  for (int64_t more = m.below(3); more > 0; --more) {
    Type type = m.type(first);
    if (m.chance(0.5)) type.shape[static_cast<size_t>(axis)] = m.random_dim();
    inputs.push_back(m.of_type(type));
  }
  m.emit(Op::concat, inputs, {{"axis", axis}});
}

void make_pad(GraphMaker& m) {
  Value in = m.any(kAny);
  std::vector<Dim> low;
  std::vector<Dim> high;
  std::vector<int64_t> interior;
  bool inside = m.chance(0.3);
  for (size_t i = 0; i < m.shape(in).size(); ++i) {
    low.emplace_back(m.chance(0.1) ? m.random_dim() : Dim(m.below(2)));
    high.emplace_back(m.below(3));
    interior.push_back(inside ? m.below(3) : 0);
  }
  if (!inside) interior.clear();
  double value =
      m.is_real(in) ? m.one_of<double>({0, 0, 1.5, -1}) : static_cast<double>(m.below(2));
  m.emit(Op::pad, {in}, {{"low", low}, {"high", high}, {"interior", interior}, {"value", value}},
         std::max(m.bound(in), 1.5));
}

void make_input(GraphMaker& m) { m.input({m.random_dtype(kAny), m.random_shape(0, 3)}, 8); }

void make_param(GraphMaker& m) {
  Type type{m.random_dtype(kFloat), {}};
  for (int64_t rank = m.below(3); rank > 0; --rank) type.shape.emplace_back(m.between(1, 5));
  m.storage(Storage::param, type, {Init::xavier_uniform, 0}, 6);
}

void make_constant(GraphMaker& m) {
  // Used at once: a constant alone is not an op.
  Value in = m.any(kNumeric);
  m.emit(Op::maximum, {m.off_edges(in), m.full(1, m.type(in))});
}

void make_iota(GraphMaker& m) {
  const Shape shape = m.random_shape(1, 3);
  int64_t axis = m.below(static_cast<int64_t>(shape.size()));
  const Dim& size = shape[static_cast<size_t>(axis)];
  const DType dtype = m.random_dtype(kNumeric);
  Value out = m.emit(Op::iota, {}, {{"shape", shape}, {"axis", axis}, {"dtype", dtype}},
                     static_cast<double>(m.high(size)));
  m.fact(out).below = size;
}

void make_causal_mask(GraphMaker& m) {
  m.emit(Op::causal_mask, {}, {{"rows", m.random_dim()}, {"cols", m.random_dim()}}, 1);
}

void make_window_mask(GraphMaker& m) {
  m.emit(Op::window_mask, {},
         {{"rows", m.random_dim()},
          {"cols", m.random_dim()},
          {"before", m.below(4)},
          {"after", m.below(3)}},
         1);
}

void make_padding_mask(GraphMaker& m) {
  const Dim size = m.random_dim();
  m.emit(Op::padding_mask, {m.indices(size)}, {{"size", size}}, 1);
}

void make_patches(GraphMaker& m) {
  const Shape image = {m.random_dim(), image_size(m), image_size(m), Dim(m.between(1, 2))};
  Value in = m.of_type({m.random_dtype(kAny), image});
  Windows windows = random_windows(m, image[1], image[2]);
  m.emit(Op::patches, {in}, {{"size", windows.size}, {"stride", windows.stride}});
}

void make_fold_patches(GraphMaker& m) {
  const Dim height = image_size(m);
  const Dim width = image_size(m);
  Windows windows = random_windows(m, height, width);
  const int64_t area = windows.size[0] * windows.size[1];
  Value in = m.of_type(
      {m.random_dtype(kNumeric),
       {m.random_dim(), window_count(height, windows.size[0], windows.stride[0]),
        window_count(width, windows.size[1], windows.stride[1]), Dim(area * m.between(1, 2))}});
  std::optional<double> bound;
  if (m.is_real(in)) bound = m.bound(in) * static_cast<double>(area);
  m.emit(Op::fold_patches, {in},
         {{"size", windows.size}, {"stride", windows.stride}, {"height", height}, {"width", width}},
         bound);
}

void make_random_bits(GraphMaker& m) {
  m.emit(Op::random_bits, {random_state(m)},
         {{"shape", m.random_shape(0, 3)}, {"stream", m.below(4)}});
}

void make_dropout(GraphMaker& m) {
  Value in = m.any(kFloat);
  m.emit(Op::dropout, {in, random_state(m)},
         {{"rate", m.one_of<double>({0, 0.1, 0.5})}, {"stream", m.below(4)}}, 2 * m.bound(in));
}

}  // namespace weft
