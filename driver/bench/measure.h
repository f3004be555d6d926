// Measuring one case of `weft bench`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/bench/cases.h"
#include "driver/compile.h"

namespace weft {

struct BenchRequest {
  std::string target_cpu = "native";
  int threads = 0;
  int repeat = 15;
  double budget_seconds = 12;  // of measuring; at least three measurements are made
  uint64_t seed = 1;
  KnobChooser choose_knobs = {};
  std::string device = "cpu";
  std::string cache_folder = {};  // for what a driver compiles
  simt::KernelForm form = {};
};

struct BenchResult {
  std::string name;
  int threads = 1;
  std::vector<double> milliseconds;  // per call
  double flops = 0;
  double bytes = 0;
  double extra_mb = 0;  // arena, scratch, and what a call adds to the process
  double compile_ms = 0;
  int64_t kernels = 0;
  size_t tuned_kernels = 0;
  int64_t arena_bytes = 0;
  // On Vulkan, per call: what is handed to the driver, and the host's time beside the driver's.
  double submissions = 0;
  double host_us = 0;

  double median_ms() const;
  double min_ms() const;
};

Result<BenchResult> measure(const BenchCase& entry, const BenchRequest& request);

// From nothing to the first result. `binary` is the command line of Weft.
struct StartupResult {
  std::vector<double> run_ms;     // process start to the result of a 512^3 matmul, compiling it
  std::vector<double> cached_ms;  // the same with its kernel in the cache
  std::vector<double> loaded_ms;  // the same from a .weftx file
  // Process start to the end of `weft run` of train_tiny, one sentence of one token, with its
  // kernels in the cache.
  std::vector<double> cached_step_ms;
  double cold_compile_ms = 0;  // of train_tiny, within a process
  double passes_ms = 0;        // parts of that with its kernels in the cache
  double plan_ms = 0;
  double code_ms = 0;
  double warm_start_ms = 0;  // train_tiny from its .weftx file to ready
  double bind_known_us = 0;
  double bind_new_us = 0;
};
Result<StartupResult> measure_startup(const BenchRequest& request, const std::string& binary,
                                      const std::string& folder);

}  // namespace weft
