// Which op made a number that is not finite: the step once more, on the oracle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/train/device.h"

namespace weft::train {

// "exp encoder.0.attn.softmax: inf", the first op of the graph whose result, rounded to its type,
// is not finite though all it reads is; or why none was found. Masks filled with -infinity do not
// count. Slow: a plain interpreter does the work of a step.
Result<std::string> first_not_finite(const Module& differentiated, const std::string& graph,
                                     const HostTensors& first, const HostTensors& second,
                                     const DimBinding& dims, TrainDevice& device);

}  // namespace weft::train
