// What sizes have to satisfy when they are bound, besides bounds and assertions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/graph/module.h"
#include "ir/plan/plan.h"

namespace weft {

// Of a graph before or after fusion, bodies included; what is known already is not asked for:
// generated code relies on slices that lie within their axis, on sizes that are not negative, and
// on axes with something to choose from.
std::vector<SizeCheck> size_checks(const Graph& graph, const DimFacts& facts);

}  // namespace weft
