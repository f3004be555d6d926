// SPDX-License-Identifier: Apache-2.0
#include "passes/verify_passes.h"

#include <algorithm>

#include "ir/graph/rebuild.h"
#include "passes/rounding_noise.h"
#include "passes/sample_inputs.h"

namespace weft {
namespace {

// One graph with the numbers it is tried on.
struct Trial {
  std::string graph;
  DimBinding dims;
  TensorMap inputs;
  TensorMap storage;
  OracleResult expected;
  OracleProgress progress = {};

  // `before` computes the expected numbers.
  Result<std::optional<Difference>> compare(const Module& before, const Module& after,
                                            RunBy by) const {
    auto failed = [](std::string why) {
      Difference difference;
      difference.failure = std::move(why);
      return std::optional(difference);
    };
    const Graph* found = after.find_graph(graph);
    if (found == nullptr) return failed("the graph is gone");
    Result<OracleResult> result = run_oracle(after, *found, inputs, storage, dims, progress);
    if (!result.ok()) return failed(result.diagnostics()[0].message);
    const OracleRun run = {before, *before.find_graph(graph), inputs, storage, dims};
    return compare_but_for_rounding(run, expected, *result, by);
  }
};

Result<Trial> make_trial(const Module& module, const Graph& graph, const VerifyOptions& options) {
  Trial trial;
  trial.graph = graph.name();
  trial.progress = options.progress;
  WEFT_TRY(trial.dims, sample_dims(module, graph, options.dims));
  WEFT_TRY(trial.inputs, sample_inputs(module, graph, trial.dims, options.seed));
  WEFT_TRY(trial.storage, initial_values(module, &graph, options.seed, trial.dims));
  WEFT_TRY(trial.expected,
           run_oracle(module, graph, trial.inputs, trial.storage, trial.dims, trial.progress));
  return trial;
}

// Follows the pipeline from module to module.
class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options) : options_(options) {}

  Status after_pass(const PassRecord& record, const Module& module) {
    if (report_.difference) return ok();
    if (record.index >= 0) {
      report_.passes.push_back(record);
      WEFT_TRY_STATUS(compare_all(record, module));  // whatever the pass says of itself
    }
    if (!report_.difference) WEFT_TRY_STATUS(add_trials(module));
    before_ = module;
    return ok();
  }

  VerifyReport take_report() { return std::move(report_); }

 private:
  // Graphs that autodiff added are tried from there on.
  Status add_trials(const Module& module) {
    for (const Graph& graph : module.graphs) {
      bool known = std::ranges::any_of(
          trials_, [&](const Trial& trial) { return trial.graph == graph.name(); });
      bool wanted = options_.graph.empty() || module.find_graph(options_.graph) == &graph;
      if (known || !wanted) continue;
      WEFT_TRY(Trial trial, make_trial(module, graph, options_));
      report_.graphs.push_back({trial.graph, trial.dims});
      trials_.push_back(std::move(trial));
    }
    return ok();
  }

  Status compare_all(const PassRecord& record, const Module& module) {
    const Pass& pass = graph_pipeline()[static_cast<size_t>(record.index)];
    for (Trial& trial : trials_) {
      const Graph* old_graph = before_.find_graph(trial.graph);
      const Graph* new_graph = module.find_graph(trial.graph);
      if (old_graph && new_graph && same_graph(*old_graph, *new_graph)) continue;
      const RunBy by = run_by(pass, trial);
      WEFT_TRY(auto found, trial.compare(before_, module, by));
      if (!found && by == RunBy::rewritten) {
        // From here on its numbers are the right ones.
        WEFT_TRY(trial.expected,
                 run_oracle(module, *new_graph, trial.inputs, trial.storage, trial.dims));
      }
      if (!found) continue;
      report_.difference =
          VerifyDifference{std::string(record.name), "", "", trial.graph, *std::move(found)};
      return find_rewrite(pass, trial, *report_.difference);
    }
    return ok();
  }

  // Repeats the pass with fewer rewrites: the first with which the difference appears did it.
  Status find_rewrite(const Pass& pass, const Trial& trial, VerifyDifference& difference) {
    std::vector<RewriteEvent> events = run_limited(pass, -1).second;
    auto good = int64_t{-1};  // differs with none: not a rewrite's fault
    auto bad = static_cast<int64_t>(events.size());
    while (bad - good > 1) {
      int64_t middle = good + (bad - good) / 2;
      WEFT_TRY(auto differs,
               trial.compare(before_, run_limited(pass, middle).first, run_by(pass, trial)));
      (differs ? bad : good) = middle;
    }
    if (bad < 1) return ok();
    const RewriteEvent& event = events[static_cast<size_t>(bad - 1)];
    difference.rule = event.rule;
    difference.value = event.value;
    return ok();
  }

  RunBy run_by(const Pass& pass, const Trial& trial) const {
    const Graph* graph = before_.find_graph(trial.graph);
    const bool is_short = graph != nullptr && byte_size(narrowest_float(*graph)) == 2;
    const bool rounds =
        pass.rounds == Rounds::constants || (pass.rounds == Rounds::short_floats && is_short);
    return rounds ? RunBy::rewritten : RunBy::passes;
  }

  std::pair<Module, std::vector<RewriteEvent>> run_limited(const Pass& pass, int64_t limit) {
    std::vector<RewriteEvent> events;
    Module module = before_;
    PassOptions options = options_.pass;
    options.rewrite_limit = limit;
    options.on_rewrite = [&](const RewriteEvent& event) { events.push_back(event); };
    Result<bool> changed = pass.run(module, options);
    WEFT_CHECK(changed.ok(), "a pass that ran once runs again: " + render(changed.diagnostics()));
    return {std::move(module), std::move(events)};
  }

  const VerifyOptions& options_;
  Module before_;
  std::vector<Trial> trials_;
  VerifyReport report_;
};

}  // namespace

std::string VerifyDifference::str() const {
  std::string what = "graph @" + graph;
  if (!found.output.empty()) what = cat("output ", found.output, " of graph @", graph);
  std::string how = cat("differs: ", found.failure);
  if (found.failure.empty()) {
    how = cat("differs at element ", found.element, " (", format_real(found.expected),
              " before and ", format_real(found.actual), " after)");
  }
  std::string where = "pass " + pass;
  if (!rule.empty()) where += cat(", rule ", rule, " at ", value);
  return cat(where, ": ", what, " ", how);
}

Result<VerifyReport> verify_passes(const Module& module, const VerifyOptions& options) {
  if (!options.graph.empty() && module.find_graph(options.graph) == nullptr) {
    return error({}, "there is no graph '", options.graph, "'")
        .hint(did_you_mean(options.graph, module.graph_names()));
  }
  Verifier verifier(options);
  PipelineOptions pipeline;
  pipeline.pass = options.pass;
  pipeline.after_pass = [&](const PassRecord& record, const Module& now) {
    return verifier.after_pass(record, now);
  };
  Module copy = module;
  WEFT_TRY([[maybe_unused]] auto records, run_pipeline(copy, pipeline));
  return verifier.take_report();
}

}  // namespace weft
