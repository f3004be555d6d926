// weft profile: time per kernel and per layer.
// SPDX-License-Identifier: Apache-2.0
#include "driver/profile.h"

#include "driver/bench/cases.h"
#include "driver/cache_folder.h"
#include "driver/devices.h"
#include "driver/model_file.h"
#include "driver/tune.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"

namespace weft::cli {
namespace {

constexpr int kMostRuns = 100000;

struct Options {
  std::string model;
  GraphOptions graph;
  PassFlags passes;
  int runs = 5;
  size_t rows = 25;
};

std::string row_text(const ProfileRow& row, double total) {
  char line[160];
  std::snprintf(line, sizeof line, "  %-40s %6lld %10.3f %6.1f%% %9.1f %8.1f\n", row.name.c_str(),
                static_cast<long long>(row.launches), row.milliseconds,
                total > 0 ? 100 * row.milliseconds / total : 0, row.gflops(), row.gigabytes());
  return line;
}

std::string table(const char* what, const std::vector<ProfileRow>& rows, double total,
                  size_t most) {
  char head[160];
  std::snprintf(head, sizeof head, "  %-40s %6s %10s %7s %9s %8s\n", what, "runs", "ms", "share",
                "GFLOP/s", "GB/s");
  std::string text = head;
  ProfileRow rest;
  rest.name = cat("(", rows.size() - std::min(most, rows.size()), " more)");
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i < most) {
      text += row_text(rows[i], total);
      continue;
    }
    rest.launches += rows[i].launches;
    rest.milliseconds += rows[i].milliseconds;
    rest.flops += rows[i].flops;
    rest.bytes += rows[i].bytes;
  }
  return rows.size() > most ? text + row_text(rest, total) : text;
}

nlohmann::json rows_json(const std::vector<ProfileRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const ProfileRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"launches", row.launches},
                    {"ms", row.milliseconds},
                    {"flops", row.flops},
                    {"bytes", row.bytes}});
  }
  return list;
}

Status report(const GraphProfile& profile, const Options& options, const Common& common) {
  const bool replayed = profile.submissions > 0;
  if (common.json) {
    nlohmann::json all = {{"graph", profile.graph},
                          {"dims", profile.dims},
                          {"threads", profile.threads},
                          {"runs", profile.runs},
                          {"ms", profile.milliseconds},
                          {"kernels", rows_json(profile.kernels)},
                          {"layers", rows_json(profile.layers)}};
    if (replayed) all.update({{"submissions", profile.submissions}, {"host_us", profile.host_us}});
    return put_json(all);
  }
  std::string text = cat("@", profile.graph);
  for (const auto& [symbol, size] : profile.dims) text += cat(" ", symbol, "=", size);
  char line[100];
  std::snprintf(line, sizeof line, ": %.3f ms, average of %d, %d threads\n", profile.milliseconds,
                profile.runs, profile.threads);
  text += line;
  if (replayed) {
    std::snprintf(line, sizeof line,
                  "  %.1f submissions a run, %.1f us of the host beside the driver's time\n",
                  profile.submissions, profile.host_us);
    text += line;
  }
  text += table("kernel", profile.kernels, profile.milliseconds, options.rows);
  text += table("layer", profile.layers, profile.milliseconds, options.rows);
  return put(text);
}

// The case of `weft bench` of this name, or nothing.
const BenchCase* find_case(const std::vector<BenchCase>& cases, const std::string& name) {
  auto found = std::ranges::find(cases, name, &BenchCase::name);
  return found == cases.end() ? nullptr : &*found;
}

Status profile_case(const BenchCase& bench, ProfileOptions profiling, const Options& options,
                    const Common& common) {
  WEFT_TRY(BenchModel model, bench.build());
  remember_for_reproducer(model.module);
  WEFT_TRY_STATUS(keep_graph(model.module, options.graph.graph));
  WEFT_TRY(DimBinding given, dim_binding(model.module, options.graph));
  for (const auto& [symbol, size] : given) model.dims[symbol] = size;
  profiling.request.pipeline.pass.fuse_attention &= model.fuse_attention;
  WEFT_TRY(GraphProfile profile, weft::profile(model.module, model.dims, model.fixed, profiling));
  return report(profile, options, common);
}

Status profile_model(const ProfileOptions& profiling, const Options& options,
                     const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY_STATUS(keep_graph(module, options.graph.graph));
  WEFT_TRY(DimBinding given, dim_binding(module, options.graph));
  const std::vector<Graph> graphs = module.graphs;
  for (const Graph& graph : graphs) {
    module.graphs = {graph};
    WEFT_TRY(DimBinding dims, usual_dims(module, graph.name(), options.model, given));
    WEFT_TRY(GraphProfile profile, weft::profile(module, dims, {}, profiling));
    WEFT_TRY_STATUS(report(profile, options, common));
  }
  return ok();
}

Status run(const Options& options, const Common& common) {
  if (!is_vulkan(common.device) && (common.device != "cpu" || !has_code_generator())) {
    WEFT_TRY_STATUS(check_device_exists(common));
    return error({}, "device '", common.device, "' has no kernels to time")
        .hint("try --device cpu in a build with LLVM");
  }
  ProfileOptions profiling;
  profiling.request.device = common.device;
  profiling.request.target_cpu = common.target_cpu;
  profiling.request.form = common.form;
  profiling.request.cache_folder = user_cache_folder();
  profiling.request.choose_knobs = tuned_knobs(profiling.request, common.threads);
  profiling.request.pipeline = options.passes.pipeline();
  profiling.threads = common.threads;
  profiling.runs = options.runs;
  profiling.seed = common.seed;
  const std::vector<BenchCase> cases = bench_cases(DType::f32);
  if (const BenchCase* bench = find_case(cases, options.model)) {
    return profile_case(*bench, profiling, options, common);
  }
  return profile_model(profiling, options, common);
}

}  // namespace

void add_profile(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "profile", "time per kernel and layer",
                                  "weft profile train_tiny --threads 2");
  command
      ->add_option("model", options->model,
                   "a .weft or .weftb file, a preset, or a case of weft bench")
      ->required();
  command->add_option("--repeat", options->runs, "runs to average over")
      ->check(CLI::Range(1, kMostRuns));
  command->add_option("--rows", options->rows, "lines of each table");
  add_pass_options(command, options->passes);
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
