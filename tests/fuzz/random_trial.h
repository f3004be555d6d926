// One random module put through everything that must not change what it computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "passes/pass.h"

namespace weft {

struct Trial {
  uint64_t seed = 0;  // of the numbers
  DimBinding sizes;
  bool backward = false;  // also the gradients of its output `loss`
  PassOptions pass;
};

struct TrialFailure {
  std::string stage;  // what failed: "text", "simplify", ..
  std::string what;
};

// Checks that the module is valid, is the same after printing and after writing, computes finite
// numbers, and the same ones after the pipeline and after decomposition; a broken invariant on the
// way is a failure too.
std::optional<TrialFailure> try_module(const Module& module, const Trial& trial);

// A failure made small.
struct FailureReport {
  Module smallest;
  std::string path;  // the file it was written to
  std::string text;  // all there is to know: seed, failure, pass and rule, sizes, module
};
FailureReport report_failure(const Module& module, const Trial& trial, const TrialFailure& failure);

}  // namespace weft
