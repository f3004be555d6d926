// What sizes have to satisfy when they are bound, besides bounds and assertions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/module.h"

namespace weft {

// `small` must not exceed `large`. What is known before sizes are bound is not asked for.
struct SizeCheck {
  Dim small;
  Dim large;
  std::string message;  // what is wrong if it does, with both as expressions
  Loc loc = {};
};

// A graph before or after fusion, bodies included: generated code relies on slices that lie within
// their axis, on sizes that are not negative, and on axes with something to choose from.
std::vector<SizeCheck> size_checks(const Graph& graph, const DimFacts& facts);

}  // namespace weft
