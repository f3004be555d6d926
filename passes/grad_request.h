// Finding in a module what a GradRequest names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/autodiff.h"

namespace weft {

// One value to differentiate by.
struct Wanted {
  std::string name;    // without @ or %
  bool param = false;  // otherwise an input
  Type type;
  Loc loc;
};

// The graph that has the loss among its outputs; an error suggests a name.
Result<const Graph*> find_loss_graph(const Module& module, const GradRequest& request);
// In the order of the request; all float parameters, or else all float inputs, if it names none.
Result<std::vector<Wanted>> resolve_wanted(const Module& module, const Graph& graph,
                                           const GradRequest& request);

const Output* find_output(const Graph& graph, const std::string& name);  // null if there is none
const Type* input_type(const Graph& graph, const std::string& name);     // null if there is none

}  // namespace weft
