// The model of a run, with its weights, ready to be looked into.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "driver/train/observe.h"

namespace weft::report {

// Members refer to earlier ones.
struct RunModel {
  std::string folder;
  train::DeviceOptions device_options;
  train::TrainOptions options;
  std::unique_ptr<data::Task> task;
  Module module;  // @forward and @observe
  train::Observer observer;
  std::unique_ptr<train::TrainDevice> device;
  std::string weights;  // the file they are from
};

// Fails, saying what is missing, if the run has no data, weights or readable options yet.
Result<std::unique_ptr<RunModel>> open_run_model(const std::string& run,
                                                 const train::DeviceOptions& device);

}  // namespace weft::report
