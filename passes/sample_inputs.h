// Sizes and inputs to try a graph with: random, the same for the same seed, and right for their
// use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/graph/module.h"
#include "ir/oracle/oracle.h"
#include "ir/support/result.h"

namespace weft {

// A size for every symbol that the graph uses: as `given`, otherwise a small one above 1 that does
// not divide a tile, within the symbol's bounds, so that asserted equalities hold and no dim of the
// graph is negative. Fails if there is no such choice among small sizes.
Result<DimBinding> sample_dims(const Module& module, const Graph& graph,
                               const DimBinding& given = {});

// A tensor for every input. Floats are normal (numbers of their type), bools are tossed. Integers
// are small and not negative, and in range where the graph uses them as indices, classes, lengths,
// positions or step counts.
Result<TensorMap> sample_inputs(const Module& module, const Graph& graph, const DimBinding& dims,
                                uint64_t seed);

}  // namespace weft
