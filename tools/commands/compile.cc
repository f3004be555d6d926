// weft compile: runs the pipeline and says what came of it.
// SPDX-License-Identifier: Apache-2.0
#include "driver/model_file.h"
#include "ir/graph/flops.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "passes/pass.h"
#include "passes/sample_inputs.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::string dump_dir;
  std::vector<std::string> skip;
  bool fast_math = false;
  GraphOptions graph;
};

int64_t node_count(const Module& module) {
  int64_t count = 0;
  for (const Graph& graph : module.graphs) count += static_cast<int64_t>(graph.nodes().size());
  return count;
}

// NN-PASS.weft after each pass that changed the module.
Status dump_after(const std::string& folder, const PassRecord& pass, const Module& module) {
  if (pass.index >= 0 && !pass.changed) return ok();
  char name[64];
  std::snprintf(name, sizeof name, "%02d-%s.weft", pass.index + 1, std::string(pass.name).c_str());
  return write_file(folder + "/" + name, print(module));
}

nlohmann::json pass_json(const PassRecord& pass) {
  return {{"name", pass.name},
          {"changed", pass.changed},
          {"skipped", pass.skipped},
          {"ms", pass.milliseconds}};
}

Status report(const Module& module, int64_t nodes_before, const std::vector<PassRecord>& passes,
              const Options& options, const Common& common) {
  double total = 0;
  nlohmann::json rows = nlohmann::json::array();
  for (const PassRecord& pass : passes) {
    total += pass.milliseconds;
    rows.push_back(pass_json(pass));
  }
  nlohmann::json graphs = nlohmann::json::array();
  std::string text;
  for (const PassRecord& pass : passes) {
    char line[96];
    std::snprintf(line, sizeof line, "%-16s %8.2f ms  %s\n", std::string(pass.name).c_str(),
                  pass.milliseconds,
                  pass.skipped   ? "skipped"
                  : pass.changed ? "changed"
                                 : "-");
    text += line;
  }
  WEFT_TRY(DimBinding given, dim_binding(module, options.graph));
  for (const Graph& graph : module.graphs) {
    WEFT_TRY(DimBinding dims, sample_dims(module, graph, given));
    WEFT_TRY(int64_t flops, count_flops(module, graph, dims));
    graphs.push_back({{"name", graph.name()},
                      {"nodes", graph.nodes().size()},
                      {"flops", flops},
                      {"dims", dims}});
    text += cat("@", graph.name(), ": ", graph.nodes().size(), " nodes, ",
                static_cast<double>(flops) / 1e9, " GFLOP");
    for (const auto& [symbol, size] : dims) text += cat(" ", symbol, "=", size);
    text += "\n";
  }
  if (common.json) {
    return put_json({{"module", module.name},
                     {"compile_ms", total},
                     {"nodes_before", nodes_before},
                     {"nodes", node_count(module)},
                     {"passes", rows},
                     {"graphs", graphs}});
  }
  return put(text);
}

Status compile(const Options& options, const Common& common) {
  if (options.output.ends_with(".weftx")) {
    return error({}, "this build has no code generator, so it cannot write ", options.output)
        .hint("write the optimised module instead: -o OUT.weft or -o OUT.weftb");
  }
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  if (!options.graph.graph.empty()) {
    WEFT_TRY(const Graph* graph, choose_graph(module, options.graph.graph));
    Graph kept = *graph;
    module.graphs = {std::move(kept)};
  }
  int64_t nodes_before = node_count(module);
  PipelineOptions pipeline;
  pipeline.skip = options.skip;
  pipeline.pass.fast_math = options.fast_math;
  if (!options.dump_dir.empty()) {
    WEFT_TRY_STATUS(make_folder(options.dump_dir));
    pipeline.after_pass = [&](const PassRecord& pass, const Module& now) {
      return dump_after(options.dump_dir, pass, now);
    };
  }
  WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(module, pipeline));
  if (!options.output.empty()) WEFT_TRY_STATUS(save_model(module, options.output));
  return report(module, nodes_before, passes, options, common);
}

}  // namespace

void add_compile(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "compile", "runs the passes on a module",
                                  "weft compile tiny.weft -o tiny.opt.weft --dump-ir ir/");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("-o,--output", options->output, "where the optimised module goes");
  command->add_option("--dump-ir", options->dump_dir, "folder for NN-PASS.weft after each pass");
  command->add_flag("--fast-math", options->fast_math,
                    "also rules that are wrong for NaN or infinities");
  command->add_option("--skip", options->skip, "leave this pass out")->allow_extra_args(false);
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return compile(*options, session.common); });
}

}  // namespace weft::cli
