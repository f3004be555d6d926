// Part of `raise`: what a predicate on scores says of queries and keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/module.h"

namespace weft {

// Which axes of the scores a predicate is asked about, and their sizes.
struct ScoreAxes {
  size_t rank = 0;
  size_t row = 0;
  size_t col = 0;
  Dim rows;
  Dim cols;
};

// One condition that a position has to meet to be seen.
struct MaskAtom {
  Value value;           // the predicate
  bool negated = false;  // it has to be false
  // A window, as op `attention` has it; -1: no limit. Nothing if it is none.
  struct Window {
    int64_t before = -1;
    int64_t after = -1;
  };
  std::optional<Window> window;
  // The position of a key has to be below this value. It has 1 in place of rows and columns, and is
  // one of the graph's up to a reshape to `length_shape`.
  std::optional<Value> length;
  Shape length_shape;
};

// A predicate taken apart: all conditions have to be met.
std::vector<MaskAtom> mask_atoms(const Graph& graph, const DimFacts& facts, const ScoreAxes& axes,
                                 Value predicate, bool negated);

// The window that numbers written out in row-major order form, 1 where a position is seen; nothing
// if they form none, or are not one for each query and key.
std::optional<MaskAtom::Window> written_window(const DimFacts& facts, const ScoreAxes& axes,
                                               const Shape& shape,
                                               const std::vector<int64_t>& seen);

}  // namespace weft
