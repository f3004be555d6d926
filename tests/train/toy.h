// A small training run without files: what tests of the trainer train.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/train/trainer.h"

namespace weft::train {

// Sequences that count upwards from a random start, so that a model has something to learn. An
// epoch has `batches` batches; those of a place are always the same.
class ToyStream : public data::BatchStream {
 public:
  ToyStream(int64_t vocab, int64_t rows, int64_t batches, uint64_t seed, bool shuffled)
      : vocab_(vocab), rows_(rows), batches_(batches), seed_(seed), shuffled_(shuffled) {}

  Result<const data::Batch*> next() override;
  data::Position position() const override { return at_; }
  Status seek(data::Position position) override;

 private:
  static constexpr int64_t kLength = 8;

  int64_t vocab_, rows_, batches_;
  uint64_t seed_;
  bool shuffled_;  // epochs differ
  data::Position at_;
  data::Batch batch_;
};

// A language model of one layer with dropout, 20 steps, evaluated every 10 and saved every 5.
TrainOptions toy_options();

// A run in a folder, opened anew: as a process would.
struct ToyRun {
  TrainOptions options;
  RunFolder folder;
  ToyStream train;
  ToyStream valid;
  Module module;
  Observer observer;
  std::unique_ptr<TrainDevice> device;
  std::vector<std::string> warnings;
  std::vector<std::string> lines;
  std::atomic<bool> stop = false;
  std::function<void(const StepReport&)> on_step = {};

  // `fresh`: the folder is made; otherwise it is there.
  ToyRun(const TrainOptions& options, const std::string& path, bool fresh,
         const std::string& device_name = "cpu", int threads = 2);
  Trainer trainer();
};

// All bytes of the parameters and optimizer state.
std::string storage_bytes(const Module& module, TrainDevice& device);

}  // namespace weft::train
