// Runs a fused graph through lowering and the interpreter of Tile programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/oracle/oracle.h"
#include "passes/lower.h"

namespace weft {

// As run_oracle, for a graph that went through the whole pipeline: every region is lowered, its
// programs verified and interpreted. Views are read by their strides.
Result<OracleResult> run_tiles(const Module& module, const Graph& graph, const TensorMap& inputs,
                               const TensorMap& storage = {}, const DimBinding& given = {});

// The text of all programs of a graph, bodies of `chunked` included.
Result<std::string> print_tiles(const Module& module, const Graph& graph);

}  // namespace weft
