// Which nodes of a graph are needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace weft {

// By node: whether an output or an update depends on it.
std::vector<bool> live_nodes(const Graph& graph);

}  // namespace weft
