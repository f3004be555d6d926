// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ir/oracle/oracle.h"
#include "ir/serial/serial.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "passes/decompose.h"
#include "passes/rounding_noise.h"
#include "passes/sample_inputs.h"
#include "passes/verify_passes.h"
#include "tests/fuzz/widen.h"
#include "tests/support/fused_form.h"
#include "tests/support/shrink.h"

namespace weft {
namespace {

// Random graphs compute with numbers of ordinary size: anything smaller is what rounding left of a
// cancellation, such as the gradient of a softmax's sum, and stands for 0.
constexpr double kNoise = 1e-12;

constexpr char kPipelineStage[] = "pipeline";
constexpr char kFastMathStage[] = "fast-math";
constexpr char kAutodiffStage[] = "autodiff";

using Outcome = std::optional<TrialFailure>;
using Results = std::map<std::string, OracleResult>;

// While it lives a broken invariant is an exception, so that the module which breaks it can be
// shrunk.
class CatchChecks {
 public:
  CatchChecks() {
    set_check_handler(
        [](std::string_view message) { throw std::runtime_error(std::string(message)); });
  }
  ~CatchChecks() { set_check_handler(nullptr); }
  CatchChecks(const CatchChecks&) = delete;
  CatchChecks& operator=(const CatchChecks&) = delete;
};

Outcome failed(std::string stage, const Diagnostics& diagnostics) {
  return TrialFailure{std::move(stage), render(diagnostics)};
}

GradRequest grad_request(const Module& module) {
  GradRequest request{"forward", "loss", {}, ""};
  for (const Storage& entry : module.storage) {
    if (entry.kind == Storage::param) request.wrt.push_back("@" + entry.name);
  }
  const Graph& graph = *module.find_graph("forward");
  for (Value input : graph.inputs()) {
    if (is_float(graph.type(input).dtype)) request.wrt.push_back("%" + graph.input_name(input));
  }
  return request;
}

// The module with the gradients that the trial asks for.
Result<Module> with_backward(Module module, const Trial& trial) {
  if (trial.backward) WEFT_TRY_STATUS(add_backward(module, grad_request(module)));
  return module;
}

Outcome check_forms(const Module& module) {
  const std::string text = print(module);
  Result<Module> parsed = parse("random.weft", text);
  if (!parsed.ok()) return failed("text", parsed.diagnostics());
  if (print(*parsed) != text) return TrialFailure{"text", "printed again:\n" + print(*parsed)};
  Result<Module> read = read_binary("random.weftb", write_binary(module));
  if (!read.ok()) return failed("binary", read.diagnostics());
  if (print(*read) != text) return TrialFailure{"binary", "read back:\n" + print(*read)};
  return std::nullopt;
}

// The first tensor with a NaN or an infinity.
std::optional<std::string> not_finite(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    auto finite = [](double element) { return std::isfinite(element); };
    if (!std::ranges::all_of(tensor.reals, finite)) return name;
  }
  return std::nullopt;
}

void drop_noise(TensorMap& tensors) {
  for (auto& [name, tensor] : tensors) {
    for (double& element : tensor.reals) {
      if (std::abs(element) < kNoise) element = 0;
    }
  }
}

// The numbers that a module is tried on, and what it made of them.
class Runner {
 public:
  Runner(const Module& module, const Trial& trial) : trial_(trial), module_(module) {}

  Outcome run() {
    const Graph& forward = *module_.find_graph("forward");
    Result<TensorMap> inputs = sample_inputs(module_, forward, trial_.sizes, trial_.seed);
    if (!inputs.ok()) return failed("inputs", inputs.diagnostics());
    inputs_ = *inputs;
    Result<TensorMap> storage = initial_values(module_, nullptr, trial_.seed, trial_.sizes);
    if (!storage.ok()) return failed("inputs", storage.diagnostics());
    storage_ = *storage;
    return evaluate("run", module_, expected_);
  }

  // Another module runs on the same numbers.
  Outcome check_runs(const std::string& stage, const Module& other) const {
    Results ignored;
    return evaluate(stage, other, ignored);
  }

  // What another module makes of the same numbers is right from here on.
  Outcome rebase(const std::string& stage, const Module& other) {
    expected_.clear();
    return evaluate(stage, other, expected_);
  }

  // And makes the same of them.
  Outcome compare(const std::string& stage, const Module& other) const {
    Results results;
    if (Outcome bad = evaluate(stage, other, results)) return bad;
    for (const auto& [name, expected] : expected_) {
      auto found = results.find(name);
      if (found == results.end()) return TrialFailure{stage, cat("graph @", name, " is gone")};
      const OracleRun run = {module_, *module_.find_graph(name), inputs_, storage_, trial_.sizes};
      auto compared = compare_but_for_rounding(run, expected, found->second, RunBy::passes);
      if (!compared.ok()) return failed(stage, compared.diagnostics());
      if (*compared) return TrialFailure{stage, cat("graph @", name, ": ", (*compared)->str())};
    }
    return std::nullopt;
  }

 private:
  Outcome evaluate(const std::string& stage, const Module& module, Results& results) const {
    if (Status status = verify(module); !status.ok()) return failed(stage, status.diagnostics());
    for (const Graph& graph : module.graphs) {
      Result<OracleResult> result = run_oracle(module, graph, inputs_, storage_, trial_.sizes);
      if (!result.ok()) return failed(stage, result.diagnostics());
      for (TensorMap* tensors : {&result->outputs, &result->updates}) {
        drop_noise(*tensors);
        if (auto name = not_finite(*tensors)) {
          return TrialFailure{stage, cat(*name, " of @", graph.name(), " is not finite")};
        }
      }
      results[graph.name()] = *std::move(result);
    }
    return std::nullopt;
  }

  const Trial& trial_;
  const Module& module_;
  TensorMap inputs_;
  TensorMap storage_;
  Results expected_;
};

Outcome compare_pipeline(const Runner& runner, Module module, const std::string& stage,
                         PassOptions pass, std::vector<std::string> skip = {}) {
  PipelineOptions options;
  options.pass = std::move(pass);
  options.skip = std::move(skip);
  auto records = run_pipeline(module, options);
  if (!records.ok()) return failed(stage, records.diagnostics());
  return runner.compare(stage, module);
}

Outcome check_fused(Module module, const Trial& trial) {
  PipelineOptions options;
  options.pass = trial.pass;
  auto records = run_pipeline(module, options);
  if (!records.ok()) return failed("fuse", records.diagnostics());
  for (const Graph& graph : module.graphs) {
    if (auto fault = fused_fault(module, graph)) return TrialFailure{"fuse", *fault};
  }
  return check_forms(module);
}

// Decomposing rounds constants to their types, so what comes after it is compared with what it
// left.
Outcome compare_around_decompose(Runner& runner, const Module& whole, const Trial& trial) {
  const std::vector<std::string> for_device = {"arrange", "chunk", "fuse"};
  std::vector<std::string> rounding = for_device;
  rounding.push_back("decompose");
  if (Outcome bad = compare_pipeline(runner, whole, kPipelineStage, trial.pass, rounding))
    return bad;
  Module decomposed = whole;
  PipelineOptions options;
  options.pass = trial.pass;
  options.skip = for_device;
  auto records = run_pipeline(decomposed, options);
  if (!records.ok()) return failed(kPipelineStage, records.diagnostics());
  if (Outcome bad = runner.rebase(kPipelineStage, decomposed)) return bad;
  if (Outcome bad = compare_pipeline(runner, whole, kPipelineStage, trial.pass)) return bad;
  return check_fused(whole, trial);
}

// As the types are, a decomposition runs.
Outcome check_decomposed(const Runner& runner, Module module) {
  Result<bool> changed = decompose(module, {});
  if (!changed.ok()) return failed("decompose", changed.diagnostics());
  return runner.check_runs("decompose", module);
}

// In f64, where no cast and no constant rounds, more must agree: decompositions, rules that are
// right for moderate numbers only, and the gradients of the graph simplified with those of the
// graph as it was written.
Outcome compare_widened(const Module& forward, const Trial& trial) {
  Result<Module> whole = with_backward(forward, trial);
  if (!whole.ok()) return failed("backward", whole.diagnostics());
  Runner runner(*whole, trial);
  if (Outcome bad = runner.run()) return bad;
  Module decomposed = *whole;
  Result<bool> changed = decompose(decomposed, {});
  if (!changed.ok()) return failed("decompose", changed.diagnostics());
  if (Outcome bad = runner.compare("decompose", decomposed)) return bad;
  PassOptions options = trial.pass;
  options.fast_math = true;
  if (Outcome bad = compare_pipeline(runner, *whole, kFastMathStage, options)) return bad;
  if (!trial.backward) return std::nullopt;
  options = trial.pass;
  options.grad = grad_request(forward);
  return compare_pipeline(runner, forward, kAutodiffStage, options);
}

Outcome try_unguarded(const Module& module, const Trial& trial) {
  Result<Module> whole = with_backward(module, trial);
  if (!whole.ok()) return failed("backward", whole.diagnostics());
  if (Status status = verify(*whole); !status.ok()) return failed("verify", status.diagnostics());
  if (Outcome bad = check_forms(*whole)) return bad;
  Runner runner(*whole, trial);
  if (Outcome bad = runner.run()) return bad;
  if (Outcome bad = compare_around_decompose(runner, *whole, trial)) return bad;
  if (Outcome bad = check_decomposed(runner, *whole)) return bad;
  return compare_widened(widen(module), trial);
}

// Smaller sizes, one symbol after the other.
Trial shrink_sizes(const Module& module, Trial trial, const std::string& stage) {
  for (auto& [symbol, size] : trial.sizes) {
    const int64_t least = std::max<int64_t>(1, module.dims.bounds_of(Dim::symbol(symbol)).low);
    for (int64_t smaller = least; smaller < size; ++smaller) {
      Trial candidate = trial;
      candidate.sizes[symbol] = smaller;
      Outcome outcome = try_module(module, candidate);
      if (!outcome || outcome->stage != stage) continue;
      size = smaller;
      break;
    }
  }
  return trial;
}

// Which pass, and which rule of it.
std::string culprit(const Module& module, const Trial& trial, const std::string& stage) {
  if (stage != kPipelineStage && stage != kFastMathStage && stage != kAutodiffStage) return "";
  VerifyOptions options{"", trial.sizes, trial.seed, trial.pass};
  if (trial.backward) options.pass.grad = grad_request(module);
  options.pass.fast_math = stage == kFastMathStage;
  CatchChecks guard;
  try {
    Result<VerifyReport> report =
        verify_passes(stage == kPipelineStage ? module : widen(module), options);
    if (!report.ok()) return "weft verify: " + render(report.diagnostics());
    return report->ok() ? "weft verify finds nothing" : report->difference->str();
  } catch (const std::runtime_error& broken) {
    return broken.what();
  }
}

}  // namespace

std::optional<TrialFailure> try_module(const Module& module, const Trial& trial) {
  CatchChecks guard;
  try {
    return try_unguarded(module, trial);
  } catch (const std::runtime_error& broken) {
    return TrialFailure{"invariant", broken.what()};
  }
}

FailureReport report_failure(const Module& module, const Trial& trial,
                             const TrialFailure& failure) {
  auto fails = [&](const Module& candidate) {
    bool has_loss = std::ranges::any_of(candidate.find_graph("forward")->outputs,
                                        [](const Output& output) { return output.name == "loss"; });
    if (trial.backward && !has_loss) return false;
    Outcome outcome = try_module(candidate, trial);
    return outcome && outcome->stage == failure.stage;
  };
  FailureReport report;
  report.smallest = shrink(module, fails);
  Trial tried = shrink_sizes(report.smallest, trial, failure.stage);
  report.text = cat("seed ", trial.seed, ", ", failure.stage, ": ", failure.what, "\n");
  if (Outcome outcome = try_module(report.smallest, tried)) {
    report.text += cat("shrunk: ", outcome->what, "\n");
  }
  for (const auto& [symbol, size] : tried.sizes) report.text += cat(symbol, " = ", size, "; ");
  report.text += culprit(report.smallest, tried, failure.stage);
  report.path = cat(testing::TempDir(), "random_", trial.seed, ".weft");
  Status written = write_file(report.path, print(report.smallest));
  report.text += cat("\n", written.ok() ? report.path : render(written.diagnostics()), "\n",
                     print(report.smallest));
  return report;
}

}  // namespace weft
