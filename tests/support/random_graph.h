// Random valid modules, made from the op table: what fuzz tests run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ir/graph/module.h"

namespace weft {

struct RandomOptions {
  // Nodes of the graph, not counting inputs, parameters and constants.
  int min_ops = 10;
  int max_ops = 60;
  // Adds an output `loss`, a float scalar that can be differentiated.
  bool loss = false;
  // Types that a device does not compute in.
  DTypeSet without = 0;
};

// A module with one graph, @forward; the same for the same seed and options. Its numbers stay
// finite and moderate for inputs from sample_inputs (passes/sample_inputs.h) and sizes from
// random_sizes, and no comparison or rounding in it hangs on the last bit of a computed number.
Module random_module(uint64_t seed, const RandomOptions& options = {});

// Sizes for the symbols of a random module.
DimBinding random_sizes(const Module& module, uint64_t seed);
// The same with one symbol after the other, among those that may be 0, being 0. Not every module
// can be run with such sizes, and what it computes may be NaN: the mean of nothing.
std::vector<DimBinding> empty_sizes(const Module& module, uint64_t seed);

}  // namespace weft
