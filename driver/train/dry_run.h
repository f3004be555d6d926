// What a run would take: memory, and about how long.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/train/trainer.h"

namespace weft::train {

struct Estimate {
  int64_t parameters = 0;
  int64_t storage_bytes = 0;  // parameters and optimizer state
  int64_t arena_bytes = 0;    // of the largest step among the batches looked at
  int64_t batches = 0;        // so many were looked at
  double step_seconds = 0;    // measured
  double seconds = 0;         // of all steps, without evaluations
};

// Looks at some batches, and runs a few steps: the device's storage changes.
Result<Estimate> estimate(const TrainOptions& options, const Module& module, TrainDevice& device,
                          data::BatchStream& train, Trainer& trainer);

// "1.2 GB", "3 h 20 min"
std::string readable_bytes(int64_t bytes);
std::string readable_time(double seconds);
std::string short_number(double value);  // four digits

}  // namespace weft::train
