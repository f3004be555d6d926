// What `fuse` promises of a graph, checked from outside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ir/graph/module.h"

namespace weft {

// The first thing in a fused graph that no device could compute: an op outside of regions, a view
// that strides do not express, a region that is not of its kind, a result with gaps.
std::optional<std::string> fused_fault(const Module& module, const Graph& graph);

// Kernels or short sequences of kernels, those inside `chunked` counted once.
int64_t region_count(const Graph& graph);

// Programs of attention hold numbers that the graph does not: 1 / (1 - rate), rounded to f32.
bool has_fused_attention(const Graph& graph);

}  // namespace weft
