// A trained model made ready to decode: what a run's folder holds, compiled for one token at a
// time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "driver/data/task.h"
#include "driver/train/device.h"
#include "driver/train/options.h"
#include "passes/derive_decode.h"

namespace weft::decode {

struct DecodeModel {
  train::TrainOptions options;
  std::unique_ptr<data::Task> task;
  DecodeGraphs graphs;
  std::unique_ptr<train::TrainDevice> device;

  const data::Tokenizer& tokenizer() const { return *task->tokenizer(); }
  int64_t vocab() const { return options.model.vocab; }
};

struct OpenOptions {
  train::DeviceOptions device;
  bool weights = false;  // steps also tell what they attend to
};

// Whether a run is of this kind; if not, says what it is and which command takes it.
Status check_kind(const std::string& folder, data::TaskKind found, data::TaskKind wanted);

// The model that the options describe, with initial values and without a task.
Result<std::unique_ptr<DecodeModel>> make_model(train::TrainOptions model,
                                                const OpenOptions& options);

// The weights are those that stand for the run (train::weights_of_run). Fails on a folder that is
// no run, on a run of another kind, and on one that has no checkpoint yet.
Result<std::unique_ptr<DecodeModel>> open_run(const std::string& folder, data::TaskKind wanted,
                                              const OpenOptions& options);

}  // namespace weft::decode
