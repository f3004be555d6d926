// Reverse-mode differentiation, graph to graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph/emit.h"
#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

struct PassOptions;

struct GradRequest {
  std::string graph;             // where the loss is; empty = the one graph that has it
  std::string loss;              // name of an output: a float scalar
  std::vector<std::string> wrt;  // parameters ("@w", "w") or inputs ("%x", "x"); empty = all
                                 // parameters, or all float inputs where there are none
  std::string optimizer;         // "", "sgd", "adam" or "adamw": also make @train_step
};

// Adds @backward, which has the inputs of the loss's graph and returns the loss, then `grad.NAME`
// for each of `wrt`; with an optimizer also @train_step, which takes `lr` (f32[]) as a further
// input, returns the loss and updates parameters, optimizer state and `@optimizer.step`, besides
// what the loss's graph updates itself. On failure the module is as it was.
// Errors: no such output, not a float scalar, a path through an op that has no gradient (named,
// with the path from the loss to it).
Status add_backward(Module& module, const GradRequest& request);

// Pass: does what PassOptions::grad asks for, if anything.
Result<bool> autodiff(Module& module, const PassOptions& options);

// Gradients of `loss` (a scalar of graph b.graph()) with respect to `wrt`, appended to the graph.
// A value that the loss does not depend on gets zeros.
Result<std::vector<Value>> differentiate(Emitter& b, Value loss, const std::vector<Value>& wrt);

}  // namespace weft
