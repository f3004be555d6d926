// Checkpoints: parameters, optimizer state and where the run stands, in one safetensors file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "driver/data/batches.h"
#include "driver/train/device.h"

namespace weft::train {

// Where a run stands after a step. With the seed this is all that the next step depends on, besides
// what the storage holds: random numbers are a function of seed and step.
struct Progress {
  int64_t step = 0;  // that is done
  data::Position position;
  // The least validation loss so far; of a classifier, the least share of wrong labels.
  double best = std::numeric_limits<double>::infinity();
  int64_t best_step = 0;
  int64_t worse = 0;    // evaluations since the best one
  int64_t skipped = 0;  // steps that were not finite
};

// Whole or not at all, and on the disk when it returns. What is summed up between steps is left
// out.
Status save_checkpoint(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device, const Progress& progress);

// The parameters alone.
Status save_parameters(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device, const Progress& progress);

// Puts all storage of a checkpoint into the device. Fails, naming file and tensor, if one is
// missing, too many, or of another type.
Result<Progress> load_checkpoint(const std::string& path, const std::vector<Storage>& storage,
                                 TrainDevice& device);
// Parameters only, from a file that may hold more.
Status load_parameters(const std::string& path, const std::vector<Storage>& storage,
                       TrainDevice& device);

// The mean of the parameters of several checkpoints, added up in double in the order given.
Status average_checkpoints(const std::vector<std::string>& paths,
                           const std::vector<Storage>& storage, const std::string& out);

}  // namespace weft::train
