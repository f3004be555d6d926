// A model from a .weft file in place of a preset: what a task asks of it, and what training adds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/train/options.h"

namespace weft::train {

inline constexpr const char* kModuleFile = "model.weft";  // in a run's folder

// The recipe for a kind of task, with the sizes that the module says it has. The module's @forward
// takes what the task gives and returns `logits`; @loss, if there is one, takes the labels too and
// returns `loss`. Fails, naming the inputs that are expected, if it does not.
Result<TrainOptions> module_options(const std::string& path, data::TaskKind kind);

// Copies the module to the folder of its run, so that the run needs nothing else.
Status adopt_module(TrainOptions& options, const std::string& folder);

// The module of a run, as build_model has it: @loss is the module's own or the mean cross-entropy
// of
// @forward's logits; @evaluate is always that.
Result<Module> build_from_module(const TrainOptions& options);

}  // namespace weft::train
