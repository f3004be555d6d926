// `weft verify --device`: every kernel, then every graph as a whole, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "passes/verify_passes.h"

namespace weft {

struct DeviceVerifyReport {
  int64_t regions = 0;     // tried alone, on numbers of the oracle
  int64_t graphs = 0;      // tried as a whole
  std::string difference;  // the first one, as a sentence; empty if there is none

  bool ok() const { return difference.empty(); }
};

struct DeviceVerifyOptions {
  VerifyOptions common = {};    // graph, dims and seed
  CompileRequest request = {};  // how to compile
  int threads = 1;
  bool each_region = true;  // not only the graphs as a whole
};

Result<DeviceVerifyReport> verify_device(const Module& module, const DeviceVerifyOptions& options);

}  // namespace weft
