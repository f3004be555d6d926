// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>

#include "driver/cache_folder.h"
#include "driver/knob_search.h"
#include "driver/tune_candidate.h"
#include "ir/support/check.h"
#include "passes/sample_inputs.h"
#include "runtime/pool.h"

namespace weft {
namespace {

constexpr int kMostRounds = 24;
constexpr int kConfirmations = 2;
constexpr double kWorthKeeping = 0.97;  // of the default's time

using Choices = std::map<std::string, KnobValues>;  // by the kernel's name

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

double least(const std::vector<double>& values) { return *std::ranges::min_element(values); }

class Tuner {
 public:
  Tuner(const Module& module, const DimBinding& dims, const TuneOptions& options)
      : module_(module), options_(options) {
    report_.graph = module.graphs[0].name();
    report_.dims = dims;
  }

  Result<TuneReport> run() {
    const Graph& graph = module_.graphs[0];
    WEFT_TRY(inputs_, sample_inputs(module_, graph, report_.dims, options_.seed));
    WEFT_TRY(int threads, thread_count(options_.threads));
    pool_ = std::make_shared<Pool>(threads);  // the two that run by turns use one
    report_.threads = pool_->threads();
    WEFT_TRY(Candidate standard, make({}));
    WEFT_TRY_STATUS(choose_kernels(standard));
    WEFT_TRY_STATUS(search(standard));
    WEFT_TRY_STATUS(confirm(standard));
    std::ranges::stable_sort(report_.rows, std::ranges::greater(),
                             [](const TuneRow& row) { return row.found.default_us; });
    return std::move(report_);
  }

 private:
  // All of a failure counts, too.
  Result<Candidate> make(const Choices& choices) {
    const auto start = std::chrono::steady_clock::now();
    Result<Candidate> made = try_to_make(choices);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    report_.compile_seconds += passed.count();
    longest_ = std::max(longest_, passed.count());
    return made;
  }

  // Whether so many compilations more go beyond the limit.
  bool too_long(int more) const {
    const double limit = options_.compile_seconds;
    return limit > 0 && report_.compile_seconds + more * longest_ > limit;
  }

  Result<Candidate> try_to_make(const Choices& choices) {
    CompileRequest request = options_.request;
    std::vector<tile::Program> lowered;  // as a device's knobs are before it chooses a layout
    request.choose_knobs = [&](const tile::Program& program) -> std::optional<KnobValues> {
      lowered.push_back(program);
      auto found = choices.find(program.name);
      return found == choices.end() ? std::nullopt : std::optional(found->second);
    };
    WEFT_TRY(Compiled compiled, compile(module_, request));
    if (options_.admit) WEFT_TRY_STATUS(options_.admit(compiled.programs));
    ContextOptions context;
    context.seed = options_.seed;
    context.pool = pool_;
    context.device = request.device;
    context.cache_folder = vulkan_folder(request.cache_folder);
    WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), context));
    WEFT_TRY(PreparedRun prepared,
             executor.prepare(module_.graphs[0].name(), inputs_, report_.dims));
    Candidate made(std::move(executor), std::move(prepared), std::move(lowered));
    WEFT_TRY_STATUS(made.run());  // some drivers compile now
    return made;
  }

  // By turns, after a run each that is not counted, from the same storage.
  Status measure(Candidate& standard, Candidate& variant, int runs, Samples& before,
                 Samples& after) {
    standard.restart(options_.seed);
    variant.restart(options_.seed);
    WEFT_TRY_STATUS(standard.run());
    WEFT_TRY_STATUS(variant.run());
    for (int i = 0; i < runs; ++i) {
      WEFT_TRY_STATUS(standard.run(before));
      WEFT_TRY_STATUS(variant.run(after));
    }
    return ok();
  }

  Status choose_kernels(Candidate& standard) {
    Samples samples;
    WEFT_TRY_STATUS(standard.run());
    for (int i = 0; i < options_.repeat; ++i) WEFT_TRY_STATUS(standard.run(samples));
    double total = 0;
    for (const std::vector<double>& times : samples) total += least(times);
    report_.kernels = samples.size();
    searches_.clear();
    for (size_t i = 0; i < samples.size(); ++i) {
      const tile::Program& program = standard.programs()[i];
      if (least(samples[i]) < options_.smallest_share * total) continue;
      if (choosable_knobs(program).empty() || options_.known.contains(tuning_key(program))) {
        continue;
      }
      searches_.emplace(i, KnobSearch(program));
      TuneRow row{program, {}};
      row.found.name = program.name;
      row.found.dims = report_.dims;
      row.found.default_us = row.found.best_us = least(samples[i]);
      rows_[i] = report_.rows.size();
      report_.rows.push_back(std::move(row));
    }
    return ok();
  }

  Status search(Candidate& standard) {
    for (; report_.rounds < kMostRounds; ++report_.rounds) {
      if (too_long(2)) return ok();  // this one, and one to confirm what it finds
      Choices choices;
      for (const auto& [i, kernel] : searches_) {
        if (auto values = kernel.next()) choices.emplace(standard.programs()[i].name, *values);
      }
      if (choices.empty()) return ok();
      tell(choices.size());
      Result<Candidate> variant = make(choices);
      if (!variant.ok()) {
        record_refused(standard, choices);
        continue;
      }
      Samples before;
      Samples after;
      WEFT_TRY_STATUS(measure(standard, *variant, options_.repeat, before, after));
      for (auto& [i, kernel] : searches_) {
        auto tried = choices.find(standard.programs()[i].name);
        if (tried == choices.end()) continue;
        kernel.record(tried->second, least(after[i]) / std::max(least(before[i]), 1e-3));
      }
    }
    return ok();
  }

  // A device does not take all of them together: those that it does not take alone are as bad as
  // can be, and the others are tried again. If it takes each alone, none is worth more time.
  void record_refused(const Candidate& standard, const Choices& choices) {
    std::vector<size_t> refused, all;
    for (auto& [i, kernel] : searches_) {
      auto tried = choices.find(standard.programs()[i].name);
      if (tried == choices.end()) continue;
      all.push_back(i);
      if (choices.size() == 1 || too_long(2)) continue;
      if (!make({*tried}).ok()) refused.push_back(i);
    }
    for (size_t i : refused.empty() ? all : refused) {
      const std::string& name = standard.programs()[i].name;
      searches_.at(i).record(choices.at(name), std::numeric_limits<double>::infinity());
      ++report_.refused;
    }
  }

  void tell(size_t kernels) const {
    if (options_.progress) options_.progress(report_.rounds + 1, kernels);
  }

  Status confirm(Candidate& standard) {
    std::map<size_t, KnobValues> winners;
    for (const auto& [i, kernel] : searches_) {
      if (kernel.improved()) winners.emplace(i, kernel.best());
    }
    std::optional<Candidate> variant;  // of the winners as they are
    for (int i = 0; i < kConfirmations; ++i) {
      WEFT_TRY_STATUS(measure_winners(standard, winners, variant));
    }
    // Kernels that win one by one may still lose together: by what they leave in caches.
    if (report_.best_ms >= report_.default_ms) {
      winners.clear();
      report_.best_ms = report_.default_ms;
    }
    for (const auto& [i, values] : winners) report_.rows[rows_.at(i)].found.values = values;
    for (TuneRow& row : report_.rows) {
      if (row.found.values.empty()) row.found.best_us = row.found.default_us;
    }
    return ok();
  }

  // Leaves those that win again, and that compute the same bits.
  // There is nothing to confirm, or no time for it: then nothing has won.
  Status measure_winners(Candidate& standard, std::map<size_t, KnobValues>& winners,
                         std::optional<Candidate>& variant) {
    if (!variant && too_long(1)) winners.clear();
    Choices choices;
    for (const auto& [i, values] : winners) choices.emplace(standard.programs()[i].name, values);
    tell(choices.size());
    ++report_.rounds;
    if (!variant && !choices.empty()) {
      Result<Candidate> made = make(choices);
      if (made.ok()) variant = std::move(*made);
      if (!made.ok()) winners.clear();
    }
    Candidate& measured = variant ? *variant : standard;
    const size_t were = winners.size();
    Samples before;
    Samples after;
    WEFT_TRY_STATUS(measure(standard, measured, 3 * options_.repeat, before, after));
    WEFT_TRY(bool same, standard.same_bits(measured));
    if (!same) WEFT_TRY_STATUS(drop_what_changes_results(standard, winners));
    report_.default_ms = median_of_runs(before);
    report_.best_ms = median_of_runs(after);
    std::erase_if(winners, [&](const auto& winner) {
      TunedKernel& found = report_.rows[rows_.at(winner.first)].found;
      found.default_us = least(before[winner.first]);
      found.best_us = least(after[winner.first]);
      return !wins(before[winner.first], after[winner.first]);
    });
    if (winners.size() < were) variant.reset();
    return ok();
  }

  // Beyond the spread of the runs, too.
  static bool wins(const std::vector<double>& before, const std::vector<double>& after) {
    return least(after) < kWorthKeeping * least(before) &&
           quantile(after, 0.5) < quantile(before, 0.25);
  }

  // Bits are free knobs' to keep; another order of additions may round otherwise.
  Status drop_what_changes_results(Candidate& standard, std::map<size_t, KnobValues>& winners) {
    for (auto winner = winners.begin(); winner != winners.end();) {
      const tile::Program& program = standard.programs()[winner->first];
      if (too_long(1)) {
        winner = winners.erase(winner);
        continue;
      }
      WEFT_TRY(Candidate alone, make({{program.name, winner->second}}));
      Samples ignored;
      WEFT_TRY_STATUS(measure(standard, alone, 0, ignored, ignored));
      const bool rounds = changes_order(program, winner->second);
      WEFT_TRY(bool same, rounds ? standard.is_close(alone) : standard.same_bits(alone));
      report_.rows[rows_.at(winner->first)].changes_bits = !same;
      winner = same ? std::next(winner) : winners.erase(winner);
    }
    return ok();
  }

  static double median_of_runs(const Samples& samples) {
    std::vector<double> runs(samples.empty() ? 1 : samples[0].size());
    for (const std::vector<double>& times : samples) {
      for (size_t i = 0; i < times.size(); ++i) runs[i] += times[i] * 1e-3;
    }
    return quantile(std::move(runs), 0.5);
  }

  const Module& module_;
  const TuneOptions& options_;
  TuneReport report_;
  TensorMap inputs_;
  std::shared_ptr<Pool> pool_;
  std::map<size_t, KnobSearch> searches_;  // by program
  std::map<size_t, size_t> rows_;          // of the report, by program
  double longest_ = 0;                     // compilation so far, in seconds
};

}  // namespace

Result<TuningMachine> tuning_machine(const CompileRequest& request, int threads) {
  if (request.device == "cpu") return tuning_machine(request.target_cpu, threads);
  WEFT_TRY(const std::string device, device_key(request));
  return tuning_device(device);
}

KnobChooser tuned_knobs(const CompileRequest& request, int threads) {
  const Result<TuningMachine> machine = tuning_machine(request, threads);
  return machine.ok() ? tuned_knobs(request.cache_folder, *machine) : KnobChooser();
}

Result<TuneReport> tune(const Module& module, const DimBinding& dims, const TuneOptions& options) {
  WEFT_CHECK(module.graphs.size() == 1 && options.repeat > 0,
             "one graph to tune, run at least once");
  return Tuner(module, dims, options).run();
}

}  // namespace weft
