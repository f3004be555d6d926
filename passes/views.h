// Views: a value as a window on another value's elements, told by strides, so that nothing is
// copied.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/module.h"

namespace weft {

// Element [i, j, ..] of the value is element offset + i * strides[0] + j * strides[1] + .. of
// `base`, whose own elements lie in row-major order without gaps.
struct View {
  Value base;
  Dim offset;
  std::vector<Dim> strides;
};

std::vector<Dim> row_major_strides(const Shape& shape);

// Axes `from` .. of one shape that become axes `to` .. of another under a reshape: equal products.
struct ReshapeGroup {
  std::vector<size_t> from;
  std::vector<size_t> to;
};
// The smallest groups that can be told apart symbolically, in order. Axes of size 1 are in none.
std::vector<ReshapeGroup> reshape_groups(const Shape& from, const Shape& to, const DimFacts& facts);

// Follows reshape, transpose, slice and broadcast as far as strides can express them. A value that
// is no view is its own base. The base is never a view op that could have been followed, but it may
// be one that could not: a reshape that merges transposed axes has to be computed by a region.
View view_of(const Graph& graph, Value value, const DimFacts& facts);
// True if the op of `value` is a view and strides on its operand's view express it.
bool is_free_view(const Graph& graph, Value value, const DimFacts& facts);
bool is_contiguous(const View& view, const Shape& shape, const DimFacts& facts);

}  // namespace weft
