// Measuring what `weft train` adds to a bare step: `train_overhead` of `weft bench`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/bench/measure.h"

namespace weft {

inline constexpr const char* kTrainOverheadGroup = "train_overhead";

// A run as `weft train` makes it, on a text that is made up, with the preset's defaults. Its steps
// go by turns with the same batches on the device alone, which shows everything but drowns in the
// noise of a machine that changes its speed. So the trainer's parts are timed by themselves, too.
struct TrainOverhead {
  std::string name;  // train_overhead_tiny, train_overhead_gpt
  int threads = 1;
  int64_t steps_a_turn = 0;
  std::vector<double> step_ms;  // the mean of each turn: data, step, metrics
  std::vector<double> bare_ms;
  std::vector<double> outside_ms;  // of step_ms, what the device did not take
  double batch_ms = 0;             // to make a batch, which another thread does during a step
  double compile_ms = 0;           // tokenising included
  double extra_mb = 0;

  // Of a turn's step to its bare one, which came just after it.
  std::vector<double> ratios() const;
};

// `folder` exists, and is filled with the files of the runs.
Result<std::vector<TrainOverhead>> measure_train_overhead(const BenchRequest& request,
                                                          const std::string& folder);

}  // namespace weft
