// What the ops of a graph do with the axis of positions: whether a graph for all positions says
// what a graph for one position is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ir/graph/module.h"

namespace weft {

// The symbol's axis of a shape; nothing if it has none, or several.
std::optional<size_t> axis_of(const Shape& shape, const std::string& symbol);
size_t count_axes_with(const Shape& shape, const std::string& symbol);
bool mentions(const Dim& dim, const std::string& symbol);

// Attributes with symbols replaced in every dim.
Attrs with_dims(const Attrs& attrs, const std::map<std::string, Dim>& replacements);

// Why a node, which is no attention, cannot be computed for one position at a time; nothing if each
// of its results at a position depends on its operands at that position only.
std::optional<std::string> mixes_positions(const Graph& graph, const Node& node,
                                           const std::string& positions);

}  // namespace weft
