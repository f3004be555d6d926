// What a pass is, and the runner that every pass goes through.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/module.h"
#include "ir/support/result.h"
#include "passes/autodiff.h"

namespace weft {

struct Rule;  // passes/rewrite.h

// One application of a rewrite rule.
struct RewriteEvent {
  std::string_view rule;
  std::string graph;
  std::string value;  // name of what was rewritten
};

struct PassOptions {
  std::optional<GradRequest> grad;    // what `autodiff` is to do; nothing if absent
  std::optional<TrainRequest> train;  // the same, for a trainer
  std::span<const Rule> extra_rules;  // tried by simplify after its own
  int64_t rewrite_limit = -1;         // stop after this many rewrites per pass; -1 = no limit
  bool fuse_attention = true;         // `raise` recovers attention, `fuse-attention` commits it
  bool fast_math = false;             // also rules that are wrong for NaN, infinities or overflow
  std::function<void(const RewriteEvent&)> on_rewrite;  // may be empty
};

// Returns whether anything changed. A pass is a free function in a file of its name.
using PassFn = Result<bool> (*)(Module& module, const PassOptions& options);

// What a pass may change in numbers, within their types.
enum class Rounds : uint8_t {
  nothing,
  constants,     // it makes some, rounded to their types
  short_floats,  // it leaves out roundings to 16-bit types, or adds some
};

struct Pass {
  std::string_view name;
  PassFn run;
  std::string_view summary;
  Rounds rounds = Rounds::nothing;
};

// passes/pipeline.cc: the order of the compiler, as one table.
std::span<const Pass> graph_pipeline();
std::vector<std::string> pass_names();

struct PassRecord {
  std::string_view name;
  int index = 0;  // position in the pipeline, from 0
  bool changed = false;
  bool skipped = false;
  double milliseconds = 0;
};

struct PipelineOptions {
  PassOptions pass;
  std::vector<std::string> skip;  // pass names
  std::string stop_after;         // a pass name; empty = to the end. The last row of that name.
  // Called after each pass (the module verified), and once before the first with index -1 and the
  // name "input". May return an error to stop.
  std::function<Status(const PassRecord&, const Module&)> after_pass;
};

// Runs the pipeline on a module, verifying after each pass. A module that a pass broke is an
// internal error that names the pass.
Result<std::vector<PassRecord>> run_pipeline(Module& module, const PipelineOptions& options);

}  // namespace weft
