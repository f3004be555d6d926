// Searching the knobs of a graph's kernels by measuring them where they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/compile.h"
#include "driver/tuning.h"

namespace weft {

struct TuneOptions {
  CompileRequest request = {};  // its choose_knobs is not looked at
  int threads = 0;
  int repeat = 3;                 // runs of each variant; three times as many in the end
  double smallest_share = 0.002;  // of a run: shorter kernels are not worth a search
  // Of compilations, a driver's and those that confirm winners included: the search ends before it.
  // 0: no limit.
  double compile_seconds = 0;
  uint64_t seed = 1;
  std::set<std::string> known = {};  // tuning_key of kernels that are not tried again
  // For tests: asked whether a device takes these programs.
  std::function<Status(const std::vector<tile::Program>&)> admit = {};
  // Told before each round of measurements: its number, and how many kernels are being varied.
  std::function<void(int round, size_t kernels)> progress = {};
};

// What came of one kernel.
struct TuneRow {
  tile::Program program;  // as lowered
  TunedKernel found;      // with values: a winner
  // A winner but for this: it did not compute the same bits, which no free knob may change.
  bool changes_bits = false;
};

// What results hold for, and what was found: for the device that a request is for.
Result<TuningMachine> tuning_machine(const CompileRequest& request, int threads);
KnobChooser tuned_knobs(const CompileRequest& request, int threads);

struct TuneReport {
  std::string graph;
  DimBinding dims;
  int threads = 0;
  int rounds = 0;
  int refused = 0;  // choices that made no code, or none that the device takes
  double compile_seconds = 0;
  size_t kernels = 0;         // of the graph
  double default_ms = 0;      // of a run, the median
  double best_ms = 0;         // with the winners
  std::vector<TuneRow> rows;  // of kernels that were varied, the longest first
};

// Runs the only graph of `module` on seeded inputs. All kernels are varied at once, each by its own
// search, so that a round costs one compilation; each round runs by turns with the kernels as they
// were lowered. A winner has to win twice more in the end, by more than the noise, and all winners
// together have to make the whole run faster.
Result<TuneReport> tune(const Module& module, const DimBinding& dims, const TuneOptions& options);

}  // namespace weft
