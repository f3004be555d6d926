// @train_step: a graph with gradients, and an optimizer that applies them; what else a trainer
// runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/grad_request.h"

namespace weft {

inline constexpr const char* kTrainStep = "train_step";  // names of graphs
inline constexpr const char* kAccumulate = "accumulate";
inline constexpr const char* kGradNorms = "grad_norms";
// State of this name and a parameter's: the sum of its gradients that @accumulate keeps.
inline constexpr const char* kAccumulated = "optimizer.grad.";

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

// Fails if the optimizer is unknown, if there is no parameter to train, or a name is taken.
Result<Training> make_train_step(const Module& module, Differentiated parts,
                                 const std::vector<Wanted>& wanted, const TrainSettings& settings);

// @accumulate, beside a @train_step that has made its storage.
Result<Graph> make_accumulate(const Module& module, Differentiated parts,
                              const std::vector<Wanted>& wanted);

// @grad_norms. Fails if a group names what is not wanted, or nothing.
Result<Graph> make_grad_norms(const Module& module, Differentiated parts,
                              const std::vector<Wanted>& wanted,
                              const std::vector<std::vector<std::string>>& groups);

// An input for a number that may change from step to step: f32[]. Fails if there is one already.
Result<Value> add_number_input(Graph& graph, const std::string& name);

}  // namespace weft
