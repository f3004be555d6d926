// A run from its options to its end: data, model, device, trainer. What `weft train` does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/train/dry_run.h"
#include "driver/train/trainer.h"

namespace weft::train {

// Everything that a run consists of. Members refer to earlier ones.
struct Session {
  TrainOptions options;
  std::unique_ptr<data::Task> task;
  std::unique_ptr<data::BatchStream> train;
  std::unique_ptr<data::BatchStream> valid;
  Module module;  // differentiated, with @observe
  Observer observer;
  std::unique_ptr<TrainDevice> device;
};

// Prepares the data in the folder, which exists, and fits model and number of steps to it.
Result<std::unique_ptr<Session>> open_session(TrainOptions options, const std::string& folder,
                                              const DeviceOptions& device);

}  // namespace weft::train
