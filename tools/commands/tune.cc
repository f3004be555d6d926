// weft tune: searches the knobs of kernels and keeps the winners.
// SPDX-License-Identifier: Apache-2.0
#include "driver/tune.h"

#include <algorithm>

#include "driver/cache_folder.h"
#include "driver/model_file.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"
#include "tools/progress.h"

namespace weft::cli {
namespace {

constexpr int kMostRuns = 1000;

struct Options {
  std::string model;
  GraphOptions graph;
  int repeat = 3;
  double compile_seconds = 600;
};

// "BM 48 -> 24, BN 256"
std::string knobs_text(const TuneRow& row) {
  std::string text;
  const std::vector<size_t> knobs = choosable_knobs(row.program);
  for (size_t i = 0; i < knobs.size(); ++i) {
    const tile::Knob& knob = row.program.knobs[knobs[i]];
    text += cat(text.empty() ? "" : ", ", knob.name, " ", knob.value);
    if (!row.found.values.empty() && row.found.values[i] != knob.value) {
      text += cat(" -> ", row.found.values[i]);
    }
  }
  return row.changes_bits ? text + " (another value is faster, but changes results)" : text;
}

nlohmann::json row_json(const TuneRow& row) {
  nlohmann::json before = nlohmann::json::object();
  nlohmann::json after = nlohmann::json::object();
  const std::vector<size_t> knobs = choosable_knobs(row.program);
  for (size_t i = 0; i < knobs.size(); ++i) {
    const tile::Knob& knob = row.program.knobs[knobs[i]];
    before[knob.name] = knob.value;
    after[knob.name] = row.found.values.empty() ? knob.value : row.found.values[i];
  }
  return {{"kernel", row.found.name},
          {"tuned", !row.found.values.empty()},
          {"default_us", row.found.default_us},
          {"best_us", row.found.best_us},
          {"default_knobs", before},
          {"knobs", after},
          {"changes_bits", row.changes_bits}};
}

Status report(const TuneReport& result, const Common& common) {
  const auto tuned = std::ranges::count_if(
      result.rows, [](const TuneRow& row) { return !row.found.values.empty(); });
  if (common.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const TuneRow& row : result.rows) rows.push_back(row_json(row));
    return put_json({{"graph", result.graph},
                     {"dims", result.dims},
                     {"threads", result.threads},
                     {"rounds", result.rounds},
                     {"compile_s", result.compile_seconds},
                     {"kernels", result.kernels},
                     {"tuned", tuned},
                     {"default_ms", result.default_ms},
                     {"best_ms", result.best_ms},
                     {"rows", rows}});
  }
  std::string text = cat("@", result.graph);
  for (const auto& [symbol, size] : result.dims) text += cat(" ", symbol, "=", size);
  char line[256];
  std::snprintf(line, sizeof line,
                ": %.3f -> %.3f ms, %d threads; %td of %zu kernels tuned, %zu tried in %d rounds\n",
                result.default_ms, result.best_ms, result.threads, tuned, result.kernels,
                result.rows.size(), result.rounds);
  text += line;
  std::snprintf(line, sizeof line, "  %-40s %12s %12s  %s\n", "kernel", "default us", "best us",
                "knobs");
  text += line;
  for (const TuneRow& row : result.rows) {
    std::snprintf(line, sizeof line, "  %-40s %12.1f %12.1f  ", row.found.name.c_str(),
                  row.found.default_us, row.found.best_us);
    text += line + knobs_text(row) + "\n";
  }
  return put(text);
}

// A kernel that was tuned before and does not win any more gets its defaults back.
Status keep(const Tuning& tuning, const TuneReport& result) {
  for (const TuneRow& row : result.rows) {
    const bool won = !row.found.values.empty();
    if (won || tuning.find(row.program)) WEFT_TRY_STATUS(tuning.keep(row.program, row.found));
  }
  return ok();
}

Result<Tuning> open_tuning(const CompileRequest& request, int threads) {
  const std::string& folder = request.cache_folder;
  if (folder.empty()) {
    return error({}, "there is no cache folder to keep results in")
        .hint("set WEFT_CACHE_DIR to a folder");
  }
  WEFT_TRY(TuningMachine machine, tuning_machine(request, threads));
  return Tuning::open(folder, std::move(machine));
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY_STATUS(keep_graph(module, options.graph.graph));
  WEFT_TRY(DimBinding given, dim_binding(module, options.graph));
  const bool on_cpu = common.device == "cpu" && has_code_generator();
  if (!on_cpu && !is_vulkan(common.device)) {
    return error({}, "device '", common.device, "' has no knobs to tune")
        .hint("try --device cpu in a build with LLVM, or --device vulkan");
  }
  TuneOptions tuned;
  tuned.request.device = common.device;
  tuned.request.target_cpu = common.target_cpu;
  tuned.request.form = common.form;
  tuned.request.cache_folder = user_cache_folder();
  tuned.compile_seconds = options.compile_seconds;
  WEFT_TRY(Tuning tuning, open_tuning(tuned.request, common.threads));
  tuned.threads = common.threads;
  tuned.repeat = options.repeat;
  tuned.seed = common.seed;
  const std::vector<Graph> graphs = module.graphs;
  for (const Graph& graph : graphs) {
    module.graphs = {graph};
    WEFT_TRY(DimBinding dims, usual_dims(module, graph.name(), options.model, given));
    Progress progress(common);
    tuned.progress = [&](int round, size_t kernels) {
      progress.show(cat("@", graph.name(), " round ", round, ": ", kernels, " kernels"));
    };
    WEFT_TRY(TuneReport result, weft::tune(module, dims, tuned));
    progress.clear();
    WEFT_TRY_STATUS(keep(tuning, result));
    WEFT_TRY_STATUS(report(result, common));
    for (const TuneRow& row : result.rows) tuned.known.insert(tuning_key(row.program));
  }
  return ok();
}

}  // namespace

void add_tune(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "tune", "searches the knobs of kernels and keeps the winners",
                  "weft tune train.weft --graph @train_step --dim B=128 --device cpu");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("--repeat", options->repeat, "runs of each variant")
      ->check(CLI::Range(1, kMostRuns))
      ->capture_default_str();
  command
      ->add_option("--compile-seconds", options->compile_seconds,
                   "of compiling, after which the search goes no further; 0 is no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
