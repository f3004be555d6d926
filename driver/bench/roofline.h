// The machine's own limits: how fast it multiplies and adds, and how fast it reads memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weft {

struct RooflineResult {
  std::string name;  // roofline_fma, roofline_read, roofline_triad
  int threads = 1;
  std::vector<double> milliseconds;  // one per repetition
  double gflop = 0;                  // work of one repetition
  double gigabytes = 0;              // traffic of one repetition
  double megabytes = 0;              // memory held for it
};

// `repeat` measurements of each limit. Arrays of 256 MiB, larger than any cache.
std::vector<RooflineResult> measure_roofline(int threads, int repeat);

}  // namespace weft
