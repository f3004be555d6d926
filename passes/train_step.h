// @train_step: a graph with gradients, and an optimizer that applies them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/grad_request.h"

namespace weft {

inline constexpr const char* kTrainStep = "train_step";  // name of the graph

// The loss's graph, with the loss as its only output and the gradients appended.
struct Differentiated {
  Graph graph;
  std::vector<Value> gradients;  // one for each Wanted
};

// What @train_step adds to a module.
struct Training {
  Graph graph;
  std::vector<Storage> storage;
};

// Fails if `optimizer` is unknown, if there is no parameter to train, or a name is taken.
Result<Training> make_train_step(const Module& module, Differentiated parts,
                                 const std::vector<Wanted>& wanted, const std::string& optimizer);

}  // namespace weft
