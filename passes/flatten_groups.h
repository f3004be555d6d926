// Part of `flatten-optimizer`: which optimizer steps of a graph can be one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace weft {

// Results are updates of what the operands read, and nothing else.
struct StepGroup {
  std::vector<uint32_t> steps;   // what decays alike lies together
  std::vector<Value> gradients;  // one per step, before the common factor
  std::optional<Value> factor;   // a scalar that multiplies all gradients: clipping
  std::optional<Value> guard;    // a scalar: results are kept only if it holds
};

inline constexpr const char* kDecay = "weight_decay";

// The operand that result r of a step replaces: the gradient has no result.
constexpr size_t stored_operand(size_t result) { return result == 0 ? 0 : result + 1; }

// Groups of two steps or more.
std::vector<StepGroup> find_step_groups(const Graph& graph);

}  // namespace weft
