// Where the time of a run goes: per region, with what it computes and moves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/explain.h"
#include "ir/oracle/oracle.h"

namespace weft {

struct ProfileRow {
  std::string name;      // of a region, a kernel or a layer
  int64_t launches = 0;  // of one run
  double milliseconds = 0;
  int64_t flops = 0;
  int64_t bytes = 0;

  double gflops() const { return milliseconds > 0 ? double(flops) / milliseconds * 1e-6 : 0; }
  double gigabytes() const { return milliseconds > 0 ? double(bytes) / milliseconds * 1e-6 : 0; }
};

struct GraphProfile {
  std::string graph;
  DimBinding dims;
  int threads = 0;
  int runs = 0;             // after one that is not counted
  double milliseconds = 0;  // of a run, the average
  // On Vulkan, of a run without times per kernel: what is handed to the driver, and the host's time
  // beside the driver's.
  double submissions = 0;
  double host_us = 0;
  std::vector<ProfileRow> kernels;  // the longest first
  std::vector<ProfileRow> layers;
};

struct ProfileOptions {
  CompileRequest request = {};
  int threads = 0;
  int runs = 5;
  uint64_t seed = 1;
};

// Runs the only graph of `module` on seeded inputs, of which `fixed` are given.
Result<GraphProfile> profile(const Module& module, const DimBinding& dims, const TensorMap& fixed,
                             const ProfileOptions& options);

}  // namespace weft
