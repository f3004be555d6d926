// A trained model made ready to decode: what a run's folder holds, compiled for one token at a
// time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "driver/data/make_tokenizer.h"
#include "driver/data/task.h"
#include "driver/train/device.h"
#include "driver/train/options.h"
#include "passes/derive_decode.h"

namespace weft::decode {

struct DecodeModel {
  train::TrainOptions options;
  std::unique_ptr<data::Task> task;      // of a run
  data::TokenizerPtr tokenizer_of_file;  // of a model that is no run
  std::vector<std::string> notes;        // what a user should know of it
  DecodeGraphs graphs;
  int64_t beams = 0;  // as in OpenOptions
  std::unique_ptr<train::TrainDevice> device;

  const data::Tokenizer& tokenizer() const {
    return task ? *task->tokenizer() : *tokenizer_of_file;
  }
  int64_t vocab() const { return options.model.vocab; }
};

struct OpenOptions {
  train::DeviceOptions device;
  bool weights = false;  // steps also tell what they attend to
  bool scores = true;    // without: greedy search only, faster; what it scores are sums of logits
  int64_t beams = 0;     // that every search will have; 0: any number, a little slower
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

// A MODEL as the command line has it, and what it does not hold itself.
struct ModelFiles {
  std::string model;      // a run's folder, a .weft or .weftb file, or a preset
  std::string weights;    // safetensors; empty: those of the run, or those that the file names
  std::string tokenizer;  // empty: tokenizer.model or tokenizer.json beside the file
};

// Decodes with any of them. A model without weights has initial values, and a note says so. Fails
// as open_run does, on a model of another kind, and without a tokenizer that fits it.
Result<std::unique_ptr<DecodeModel>> open_model(const ModelFiles& files, data::TaskKind wanted,
                                                const OpenOptions& options);

}  // namespace weft::decode
