// The loss of a model on a data set, and how many labels came out right.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/data/batches.h"
#include "driver/train/device.h"

namespace weft::eval {

struct Evaluation {
  double loss = 0;       // mean over labels, without smoothing and dropout
  double accuracy = -1;  // of classifiers
  int64_t labels = 0;
};

// One epoch of the stream through @evaluate, and through @forward where there is one
// (train::build_model makes it for classifiers).
Result<Evaluation> evaluate(const Module& module, train::TrainDevice& device,
                            data::BatchStream& stream, const train::HostTensors& numbers = {});

}  // namespace weft::eval
