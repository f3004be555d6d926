// Counting the arithmetic of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

// Floating-point operations of a graph at given sizes, whatever the element types. A matmul counts
// 2 * M * N * K per batch; an elementwise op 1 per element of its results; other ops that compute
// (reductions, rows, losses, scans, sums by index, optimizer steps) 1 per element of all that they
// read. Moving data, masks and random numbers count nothing, and neither does what no output needs.
// A region counts what its body does, `chunked` what its body does for all rows at once.
// Errors: a symbol of the graph without a size, or a count beyond 63 bits.
Result<int64_t> count_flops(const Module& module, const Graph& graph, const DimBinding& dims);

// The same of one node without a body, as an expression of its symbols.
Dim flops_of(const Graph& graph, const Node& node);

}  // namespace weft
