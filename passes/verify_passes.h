// `weft verify`: runs the oracle before and after every pass, and names the first that differs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/oracle/compare.h"
#include "passes/pass.h"

namespace weft {

struct VerifyOptions {
  std::string graph;  // with or without the @; empty = all
  DimBinding dims;    // sizes to use; the others are chosen (see sample_dims)
  uint64_t seed = 0;
  PassOptions pass;
  OracleProgress progress = {};  // of every run
};

// The first thing that a pass changed although it must not.
struct VerifyDifference {
  std::string pass;
  std::string rule;   // the rewrite that did it; empty if the pass has no rules, or none did
  std::string value;  // what that rewrite replaced
  std::string graph;
  Difference found;  // without an output if the graph no longer runs

  std::string str() const;  // one sentence
};

struct VerifyReport {
  struct GraphRun {
    std::string name;
    DimBinding dims;  // sizes used
  };
  std::vector<GraphRun> graphs;
  std::vector<PassRecord> passes;  // up to the one that differs
  std::optional<VerifyDifference> difference;

  bool ok() const { return !difference.has_value(); }
};

// Fails if there is no such graph, or one cannot be run before any pass.
Result<VerifyReport> verify_passes(const Module& module, const VerifyOptions& options);

}  // namespace weft
