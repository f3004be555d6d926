// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "driver/cache_folder.h"
#include "driver/execute.h"
#include "driver/knob_search.h"
#include "ir/support/check.h"
#include "passes/sample_inputs.h"
#include "runtime/pool.h"

namespace weft {
namespace {

constexpr int kMostRounds = 24;
constexpr int kConfirmations = 2;
constexpr double kWorthKeeping = 0.97;  // of the default's time

using Choices = std::map<std::string, KnobValues>;  // by the kernel's name
using Samples = std::vector<std::vector<double>>;   // by program, then by run; microseconds

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

double least(const std::vector<double>& values) { return *std::ranges::min_element(values); }

// The graph compiled with some choice of knobs, ready to run.
class Candidate {
 public:
  Candidate(Executor executor, PreparedRun prepared, std::vector<tile::Program> programs)
      : executor_(std::move(executor)),
        prepared_(std::move(prepared)),
        nanoseconds_(prepared_.bound->steps.size()),
        programs_(std::move(programs)) {}

  const std::vector<tile::Program>& programs() const { return programs_; }
  void restart(uint64_t seed) { executor_.context().reset_storage(seed); }
  Status run() { return executor_.run(prepared_); }

  Status run(Samples& samples) {
    std::ranges::fill(nanoseconds_, 0);
    WEFT_TRY_STATUS(executor_.run(prepared_, nanoseconds_));
    samples.resize(programs_.size());
    for (std::vector<double>& of_program : samples) of_program.push_back(0);
    for (size_t i = 0; i < nanoseconds_.size(); ++i) {
      const BoundStep& step = prepared_.bound->steps[i];
      if (step.is_copy()) continue;
      samples[step.step->program].back() += static_cast<double>(nanoseconds_[i]) * 1e-3;
    }
    return ok();
  }

  // Outputs and storage.
  Result<bool> same_bits(Candidate& other) {
    for (size_t i = 0; i < prepared_.outputs.size(); ++i) {
      const Memory& a = prepared_.outputs[i];
      const Memory& b = other.prepared_.outputs[i];
      const auto bytes = static_cast<size_t>(a.bytes());
      if (bytes > 0 && std::memcmp(a.data(), b.data(), bytes) != 0) return false;
    }
    for (const BoundStorage& used : prepared_.bound->storage) {
      const std::string& name = executor_.executable().storage[used.index].name;
      WEFT_TRY(std::span<const std::byte> a, executor_.context().storage(name));
      WEFT_TRY(std::span<const std::byte> b, other.executor_.context().storage(name));
      if (!std::ranges::equal(a, b)) return false;
    }
    return true;
  }

 private:
  Executor executor_;
  PreparedRun prepared_;
  std::vector<int64_t> nanoseconds_;  // of a run, by step
  std::vector<tile::Program> programs_;
};

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
  Result<Candidate> make(const Choices& choices) {
    CompileRequest request = options_.request;
    std::vector<tile::Program> lowered;  // as a device's knobs are before it chooses a layout
    request.choose_knobs = [&](const tile::Program& program) -> std::optional<KnobValues> {
      lowered.push_back(program);
      auto found = choices.find(program.name);
      return found == choices.end() ? std::nullopt : std::optional(found->second);
    };
    const auto start = std::chrono::steady_clock::now();
    WEFT_TRY(Compiled compiled, compile(module_, request));
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
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    report_.compile_seconds += passed.count();
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
      const double limit = options_.compile_seconds;
      if (limit > 0 && report_.compile_seconds > limit) return ok();
      Choices choices;
      for (const auto& [i, kernel] : searches_) {
        if (auto values = kernel.next()) choices.emplace(standard.programs()[i].name, *values);
      }
      if (choices.empty()) return ok();
      tell(choices.size());
      WEFT_TRY(Candidate variant, make(choices));
      Samples before;
      Samples after;
      WEFT_TRY_STATUS(measure(standard, variant, options_.repeat, before, after));
      for (auto& [i, kernel] : searches_) {
        auto tried = choices.find(standard.programs()[i].name);
        if (tried == choices.end()) continue;
        kernel.record(tried->second, least(after[i]) / std::max(least(before[i]), 1e-3));
      }
    }
    return ok();
  }

  void tell(size_t kernels) const {
    if (options_.progress) options_.progress(report_.rounds + 1, kernels);
  }

  Status confirm(Candidate& standard) {
    std::map<size_t, KnobValues> winners;
    for (const auto& [i, kernel] : searches_) {
      if (kernel.improved()) winners.emplace(i, kernel.best());
    }
    for (int i = 0; i < kConfirmations; ++i) WEFT_TRY_STATUS(measure_winners(standard, winners));
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
  Status measure_winners(Candidate& standard, std::map<size_t, KnobValues>& winners) {
    Choices choices;
    for (const auto& [i, values] : winners) choices.emplace(standard.programs()[i].name, values);
    tell(choices.size());
    ++report_.rounds;
    WEFT_TRY(Candidate variant, make(choices));
    Samples before;
    Samples after;
    WEFT_TRY_STATUS(measure(standard, variant, 3 * options_.repeat, before, after));
    WEFT_TRY(bool same, standard.same_bits(variant));
    if (!same) WEFT_TRY_STATUS(drop_what_changes_bits(standard, winners));
    report_.default_ms = median_of_runs(before);
    report_.best_ms = median_of_runs(after);
    std::erase_if(winners, [&](const auto& winner) {
      TunedKernel& found = report_.rows[rows_.at(winner.first)].found;
      found.default_us = least(before[winner.first]);
      found.best_us = least(after[winner.first]);
      return !wins(before[winner.first], after[winner.first]);
    });
    return ok();
  }

  // Beyond the spread of the runs, too.
  static bool wins(const std::vector<double>& before, const std::vector<double>& after) {
    return least(after) < kWorthKeeping * least(before) &&
           quantile(after, 0.5) < quantile(before, 0.25);
  }

  Status drop_what_changes_bits(Candidate& standard, std::map<size_t, KnobValues>& winners) {
    for (auto winner = winners.begin(); winner != winners.end();) {
      WEFT_TRY(Candidate alone, make({{standard.programs()[winner->first].name, winner->second}}));
      Samples ignored;
      WEFT_TRY_STATUS(measure(standard, alone, 0, ignored, ignored));
      WEFT_TRY(bool same, standard.same_bits(alone));
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
