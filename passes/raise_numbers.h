// Part of `raise`: what is known of a value without running anything: numbers and predicates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace weft {

// The number of a constant of one number, or of what is computed from such.
std::optional<double> one_number(const Graph& graph, Value value);
// The predicate under casts of bool to numbers, negated an odd number of times.
struct Predicate {
  Value value;
  bool negated = false;
};
std::optional<Predicate> as_predicate(const Graph& graph, Value number);

}  // namespace weft
