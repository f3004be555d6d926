// SPDX-License-Identifier: Apache-2.0
#include "passes/verify_passes.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/rebuild.h"
#include "passes/sample_inputs.h"

namespace weft {
namespace {

// What is left of a cancellation is noise: numbers of ordinary size leave about this much.
constexpr double kNoise = 1e-13;
// An optimizer divides by the size of the gradient: where that is 0, its noise becomes visible.
constexpr double kOptimizerNoise = 1e-6;

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (double element : tensor.reals) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  return largest;
}

// What may be noise: little beside the largest number around, however small a tensor's own are.
double noise_beside(const OracleResult& result, double noise) {
  double largest = 0;
  for (const TensorMap* tensors : {&result.outputs, &result.updates}) {
    for (const auto& [name, tensor] : *tensors) largest = std::max(largest, largest_of(tensor));
  }
  return noise * std::min(largest, 1.0);
}

// The row-major place of the first element that differs.
std::optional<int64_t> first_difference(const Tensor& a, const Tensor& b, double tolerance,
                                        double noise) {
  const double limit = tolerance * largest_of(a) + noise;
  for (int64_t i = 0; i < a.size(); ++i) {
    auto k = static_cast<size_t>(i);
    if (!a.real()) {
      if (a.integers[k] != b.integers[k]) return i;
      continue;
    }
    double u = a.reals[k];
    double v = b.reals[k];
    bool same = u == v || (std::isnan(u) && std::isnan(v)) || std::abs(u - v) <= limit;
    if (!same) return i;
  }
  return std::nullopt;
}

std::optional<VerifyDifference> compare_maps(const TensorMap& before, const TensorMap& after,
                                             const std::string& prefix, double tolerance,
                                             double noise) {
  for (const auto& [name, tensor] : after) {
    if (before.count(name) > 0) continue;
    VerifyDifference difference;
    difference.output = prefix + name;
    difference.failure = "is new";
    return difference;
  }
  for (const auto& [name, tensor] : before) {
    VerifyDifference difference;
    difference.output = prefix + name;
    auto found = after.find(name);
    if (found == after.end()) {
      difference.failure = "is gone";
      return difference;
    }
    const Tensor& other = found->second;
    if (tensor.dtype != other.dtype || tensor.shape != other.shape) {
      difference.failure = "has another type";
      return difference;
    }
    if (auto place = first_difference(tensor, other, tolerance, noise)) {
      difference.element = *place;
      difference.before = tensor.at(*place);
      difference.after = other.at(*place);
      return difference;
    }
  }
  return std::nullopt;
}

std::optional<VerifyDifference> compare_results(const OracleResult& before,
                                                const OracleResult& after, double tolerance,
                                                double noise) {
  noise = noise_beside(before, noise);
  if (auto difference = compare_maps(before.outputs, after.outputs, "", tolerance, noise)) {
    return difference;
  }
  return compare_maps(before.updates, after.updates, "@", tolerance, noise);
}

// One graph with the numbers it is tried on.
struct Trial {
  std::string graph;
  DimBinding dims;
  TensorMap inputs;
  TensorMap storage;
  OracleResult expected;
  double noise = kNoise;
  OracleProgress progress = {};

  std::optional<VerifyDifference> compare(const Module& module, double tolerance) const {
    const Graph* found = module.find_graph(graph);
    VerifyDifference failed;
    failed.failure = "the graph is gone";
    if (found == nullptr) return failed;
    Result<OracleResult> result = run_oracle(module, *found, inputs, storage, dims, progress);
    if (result.ok()) return compare_results(expected, *result, tolerance, noise);
    failed.failure = result.diagnostics()[0].message;
    return failed;
  }
};

// How far a pass that rounds constants may move results: the precision of the narrowest type, which
// a deep graph multiplies, and an optimizer much more where gradients are small.
double rounding_tolerance(const Graph& graph) {
  double tolerance = 0;
  for (const Node& node : graph.nodes()) {
    if (info(node.op).has(kOptimizer)) tolerance = std::max(tolerance, 0.1);
    for (const Type& type : node.types) {
      if (type.dtype == DType::f32) tolerance = std::max(tolerance, 1e-4);
      if (is_float(type.dtype) && byte_size(type.dtype) == 2) tolerance = std::max(tolerance, 0.1);
    }
  }
  return tolerance;
}

Result<Trial> make_trial(const Module& module, const Graph& graph, const VerifyOptions& options) {
  Trial trial;
  trial.graph = graph.name();
  trial.progress = options.progress;
  for (const Node& node : graph.nodes()) {
    if (info(node.op).has(kOptimizer)) trial.noise = kOptimizerNoise;
  }
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
      double tolerance = options_.tolerance;
      if (pass.rounds && old_graph) {
        tolerance = std::max(tolerance, rounding_tolerance(*old_graph));
      }
      auto difference = trial.compare(module, tolerance);
      if (!difference && pass.rounds) {
        // From here on its numbers are the right ones.
        WEFT_TRY(trial.expected,
                 run_oracle(module, *new_graph, trial.inputs, trial.storage, trial.dims));
      }
      if (!difference) continue;
      difference->pass = record.name;
      difference->graph = trial.graph;
      find_rewrite(pass, trial, *difference);
      report_.difference = std::move(difference);
      return ok();
    }
    return ok();
  }

  // Repeats the pass with fewer rewrites: the first with which the difference appears did it.
  void find_rewrite(const Pass& pass, const Trial& trial, VerifyDifference& difference) {
    std::vector<RewriteEvent> events = run_limited(pass, -1).second;
    auto good = int64_t{-1};  // differs with none: not a rewrite's fault
    auto bad = static_cast<int64_t>(events.size());
    auto differs = [&](int64_t limit) {
      return trial.compare(run_limited(pass, limit).first, options_.tolerance).has_value();
    };
    while (bad - good > 1) {
      int64_t middle = good + (bad - good) / 2;
      (differs(middle) ? bad : good) = middle;
    }
    if (bad < 1) return;
    const RewriteEvent& event = events[static_cast<size_t>(bad - 1)];
    difference.rule = event.rule;
    difference.value = event.value;
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
  if (!output.empty()) what = cat("output ", output, " of graph @", graph);
  std::string how = failure.empty() ? cat("differs at element ", element, " (", format_real(before),
                                          " before and ", format_real(after), " after)")
                                    : cat("differs: ", failure);
  std::string where = "pass " + pass;
  if (!rule.empty()) where += cat(", rule ", rule, " at ", value);
  return cat(where, ": ", what, " ", how);
}

std::optional<VerifyDifference> compare_results(const OracleResult& before,
                                                const OracleResult& after, double tolerance) {
  return compare_results(before, after, tolerance, kNoise);
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
