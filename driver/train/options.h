// TrainOptions: everything that is chosen about a training run, and where the choices come from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "driver/data/task.h"
#include "driver/train/schedule.h"
#include "models/config.h"
#include "passes/autodiff.h"

namespace weft::train {

struct TrainOptions {
  std::string preset;       // whose family builds the model; empty: `module` does
  std::string module = {};  // file of a module that is trained in place of a preset
  TransformerConfig model;  // vocab and classes follow from the data
  data::TaskOptions task;

  std::string optimizer = "adam";  // or adamw, sgd
  double beta1 = 0.9;
  double beta2 = 0.98;
  double eps = 1e-9;
  double momentum = 0.9;    // of sgd
  double weight_decay = 0;  // of what has two axes or more; decoupled with adamw, else L2
  double clip = 0;          // largest norm of all gradients; 0: any
  int64_t accumulate = 1;   // batches in a step

  ScheduleKind schedule = ScheduleKind::noam;
  double lr = 0;  // the peak; 0: (d_model * warmup)^-0.5
  double min_lr = 0;
  int64_t warmup = 4000;

  int64_t steps = 100000;
  int64_t epochs = 0;     // if given, `steps` is made to be as many
  int64_t patience = 0;   // evaluations without a better one before it stops; 0: it goes on
  int64_t average = 0;    // so many last checkpoints are averaged in the end
  int64_t keep_last = 3;  // checkpoints
  int64_t eval_every = 500;
  int64_t save_every = 500;
  int64_t log_every = 10;
  uint64_t seed = 1;
  bool stop_if_not_finite = false;  // otherwise such a step is skipped

  Schedule rates() const;
  TrainSettings settings() const;
};

// The preset's own sizes with a recipe for training it. Fails if the preset is unknown, or if it
// cannot be trained from text, tables or images.
Result<TrainOptions> default_options(const std::string& preset);
// The recipe alone, for models that are no preset (module_model.h).
TrainOptions recipe_of(data::TaskKind kind);

// Whether the choices fit together; says which one does not.
Status check(const TrainOptions& options);

// As config.json has it, and back. Reading fails on what is missing or of another type.
nlohmann::ordered_json to_json(const TrainOptions& options);
Result<TrainOptions> parse_options(const nlohmann::json& json);

// The same model without dropout and label smoothing: @forward and @loss. A module from a file is
// what it is: only its @forward has none.
Result<Module> build_plain(const TrainOptions& options);

// The module of a run: @loss with dropout and smoothing, @evaluate without, and @forward where
// labels are counted that came out right.
Result<Module> build_model(const TrainOptions& options);

}  // namespace weft::train
