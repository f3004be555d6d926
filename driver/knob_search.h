// The search for a kernel's best knobs: from where it is to neighbours, as long as one is faster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "driver/knobs.h"

namespace weft {

// Asks for one measurement at a time, so that the searches of many kernels share compilations and
// runs. The number of measurements grows with the number of knobs, not with that of combinations.
class KnobSearch {
 public:
  explicit KnobSearch(const tile::Program& program);

  // What to measure next: one knob a step away from the best so far. Nothing at the end.
  std::optional<KnobValues> next() const;
  // How long it took, as a multiple of what the program takes as it was lowered.
  void record(const KnobValues& values, double ratio);

  const KnobValues& best() const { return best_; }
  bool improved() const { return best_ != start_; }

 private:
  std::vector<std::vector<int64_t>> choices_;  // of each knob, ascending
  KnobValues start_;
  KnobValues best_;
  double best_ratio_ = 1;
  std::map<KnobValues, double> tried_;
};

}  // namespace weft
