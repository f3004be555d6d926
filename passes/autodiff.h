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

// How @train_step trains.
struct TrainSettings {
  std::string optimizer;             // "sgd", "adam" or "adamw"
  Attrs attrs = {};                  // of the optimizer's op, beside its defaults
  bool decay_matrices_only = false;  // weight decay spares what has one axis: biases and norms
  double clip = 0;                   // largest norm of all gradients together; 0: any
  // Returns `grad_norm` (before clipping) too, and leaves parameters and optimizer state as they
  // were if the loss or that norm is not finite.
  bool guard = false;
  bool accumulate = false;  // also makes @accumulate, see add_training
};

// What a trainer needs of a module.
struct TrainRequest {
  GradRequest loss = {};  // its `wrt` and `optimizer` are not looked at: all parameters are trained
  TrainSettings settings = {};
  // Parameters whose gradients are watched together; if there are any, @grad_norms is made.
  std::vector<std::vector<std::string>> watched = {};
};

// Adds @backward, which has the inputs of the loss's graph and returns the loss, then `grad.NAME`
// for each of `wrt`; with an optimizer also @train_step, which takes `lr` (f32[]) as a further
// input, returns the loss and updates parameters, optimizer state and `@optimizer.step`, besides
// what the loss's graph updates itself. On failure the module is as it was.
// Errors: no such output, not a float scalar, a path through an op that has no gradient (named,
// with the path from the loss to it).
Status add_backward(Module& module, const GradRequest& request);

// Puts graphs that train in the place of the loss's graph; each has its inputs and returns its
// loss.
// @train_step also takes `lr` (f32[]). With `accumulate`, @accumulate adds the gradient, times the
// input `weight` (f32[]), to what it keeps; @train_step takes a `weight` too, trains with that sum
// times its input `scale` (f32[]), and leaves zeros. @grad_norms returns `norms`, f32: one number
// for each group that is watched. Errors as of add_backward.
Status add_training(Module& module, const TrainRequest& request);

// Pass: does what PassOptions::grad and PassOptions::train ask for, if anything.
Result<bool> autodiff(Module& module, const PassOptions& options);

// Gradients of `loss` (a scalar of graph b.graph()) with respect to `wrt`, appended to the graph.
// A value that the loss does not depend on gets zeros.
Result<std::vector<Value>> differentiate(Emitter& b, Value loss, const std::vector<Value>& wrt);

}  // namespace weft
