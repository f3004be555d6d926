// Part of `raise`: values that count positions, as sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace weft {

// A whole number for each element, as a sum of positions along axes and a size.
struct Affine {
  Dim constant;
  std::vector<int64_t> along;  // a factor per axis of the value
};
std::optional<Affine> affine(const Graph& graph, Value value);
// a + factor * b, aligned at the right.
Affine combine(const Affine& a, const Affine& b, int64_t factor);

// Of shapes: one is the other with axes of size 1 put in or taken away.
bool moves_only_ones(const Shape& from, const Shape& to);

}  // namespace weft
