// weft compile: a module to machine code, ahead of time; says what came of it.
// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include "driver/cache_folder.h"
#include "driver/explain.h"
#include "driver/model_file.h"
#include "driver/tune.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "ir/tile/text.h"
#include "runtime/executable_file.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::string dump_dir;
  bool explain = false;
  bool bounds_checks = false;
  bool require_fused_attention = false;
  PassFlags passes;
  GraphOptions graph;
};

// NN-PASS.weft after each pass that changed the module.
Status dump_after(const std::string& folder, const PassRecord& pass, const Module& module) {
  if (pass.index >= 0 && !pass.changed) return ok();
  char name[64];
  std::snprintf(name, sizeof name, "%02d-%s.weft", pass.index + 1, std::string(pass.name).c_str());
  return write_file(folder + "/" + name, print(module));
}

Status dump_kernels(const std::string& folder, const Compiled& compiled) {
  WEFT_TRY_STATUS(make_folder(folder));
  if (compiled.texts.empty()) {
    for (const tile::Program& program : compiled.programs) {
      WEFT_TRY_STATUS(write_file(folder + "/" + program.name + ".tile", tile::print(program)));
    }
  }
  for (const KernelDump& text : compiled.texts) {
    for (const auto& [ending, content] : text.files) {
      WEFT_TRY_STATUS(write_file(folder + "/" + text.name + "." + ending, content));
    }
  }
  return ok();
}

nlohmann::json passes_json(const std::vector<PassRecord>& passes) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PassRecord& pass : passes) {
    rows.push_back({{"name", pass.name},
                    {"changed", pass.changed},
                    {"skipped", pass.skipped},
                    {"ms", pass.milliseconds}});
  }
  return rows;
}

Status report_json(const Compiled& compiled, const std::vector<GraphReport>& graphs) {
  nlohmann::json rows = nlohmann::json::array();
  AttentionCount attention;
  int64_t bytes = 0;
  int64_t flops = 0;
  int64_t peak = 0;
  for (const GraphReport& graph : graphs) {
    rows.push_back(graph_json(graph));
    attention.forward_fused += graph.attention.forward_fused;
    attention.backward_fused += graph.attention.backward_fused;
    attention.unfused += graph.attention.unfused;
    bytes += graph.bytes;
    flops += graph.flops;
    peak = std::max(peak, graph.peak.bytes);
  }
  return put_json({{"module", compiled.module.name},
                   {"device", compiled.executable.device},
                   {"target_cpu", compiled.executable.target_cpu},
                   {"kernels", compiled.programs.size()},
                   {"cached_kernels", compiled.cached_kernels},
                   {"tuned_kernels", compiled.tuned_kernels},
                   {"code_bytes", compiled.executable.code.size()},
                   {"bytes", bytes},
                   {"flops", flops},
                   {"peak_bytes", peak},
                   {"compile_ms", compiled.total_ms()},
                   {"passes_ms", compiled.passes_ms},
                   {"plan_ms", compiled.plan_ms},
                   {"code_ms", compiled.code_ms},
                   {"attention", attention_json(attention)},
                   {"passes", passes_json(compiled.passes)},
                   {"graphs", rows}});
}

Status report_text(const Compiled& compiled, const std::vector<GraphReport>& graphs,
                   const Options& options) {
  std::string text;
  for (const PassRecord& pass : compiled.passes) {
    const char* state = pass.skipped ? "skipped" : pass.changed ? "changed" : "-";
    char line[96];
    std::snprintf(line, sizeof line, "%-18s %9.2f ms  %s\n", std::string(pass.name).c_str(),
                  pass.milliseconds, state);
    text += line;
  }
  char line[160];
  std::snprintf(
      line, sizeof line,
      "%-18s %9.2f ms\n%-18s %9.2f ms  %zu kernels (%zu from the cache, %zu tuned), %s bytes\n",
      "lower and plan", compiled.plan_ms, "code", compiled.code_ms, compiled.programs.size(),
      compiled.cached_kernels, compiled.tuned_kernels,
      with_commas(static_cast<int64_t>(compiled.executable.code.size())).c_str());
  text += line;
  for (const GraphReport& graph : graphs) {
    text += options.explain ? explanation_text(graph) : graph_line(graph);
  }
  return put(text);
}

// Without a code generator everything but the code.
Result<Compiled> compile_or_plan(Module module, const CompileRequest& request,
                                 const Common& common) {
  if (has_code_generator()) return compile(std::move(module), request);
  note(common, "this build has no code generator: passes and plan only");
  WEFT_TRY(PlannedModule planned, plan_module(std::move(module), request));
  Compiled compiled;
  compiled.module = std::move(planned.module);
  compiled.programs = std::move(planned.plan.programs);
  compiled.executable.graphs = std::move(planned.plan.graphs);
  compiled.passes = std::move(planned.passes);
  compiled.attention = std::move(planned.attention);
  compiled.passes_ms = planned.passes_ms;
  compiled.plan_ms = planned.plan_ms;
  compiled.tuned_kernels = planned.tuned_kernels;
  return compiled;
}

Status save(const Compiled& compiled, const std::string& path) {
  if (path.empty()) return ok();
  if (!path.ends_with(".weftx")) return save_model(compiled.module, path);
  if (!has_code_generator()) {
    return error({}, "this build has no code generator, so it cannot write ", path)
        .hint("write the fused module instead: -o OUT.weft or -o OUT.weftb");
  }
  return save_executable(path, compiled.executable);
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY_STATUS(keep_graph(module, options.graph.graph));
  WEFT_TRY(DimBinding given, dim_binding(module, options.graph));
  CompileRequest request;
  request.device = common.device;
  request.target_cpu = common.target_cpu;
  request.form = common.form;
  request.other_machine = true;
  request.sizes = given;
  request.bounds_checks = options.bounds_checks;
  request.keep_text = !options.dump_dir.empty();
  request.cache_folder = user_cache_folder();
  request.choose_knobs = tuned_knobs(request, common.threads);
  request.pipeline = options.passes.pipeline();
  request.require_fused_attention = options.require_fused_attention;
  if (!options.dump_dir.empty()) {
    WEFT_TRY_STATUS(make_folder(options.dump_dir));
    request.pipeline.after_pass = [&](const PassRecord& pass, const Module& now) {
      return dump_after(options.dump_dir, pass, now);
    };
  }
  WEFT_TRY(Compiled compiled, compile_or_plan(module, request, common));
  note_cache_problem(common, compiled.cache_problem);
  if (!options.dump_dir.empty()) {
    WEFT_TRY_STATUS(dump_kernels(options.dump_dir + "/kernels", compiled));
  }
  WEFT_TRY_STATUS(save(compiled, options.output));
  std::vector<GraphReport> graphs;
  for (const GraphPlan& plan : compiled.executable.graphs) {
    WEFT_TRY(DimBinding dims, usual_dims(module, plan.graph, options.model, given));
    WEFT_TRY(GraphReport report, explain_graph({compiled.module, compiled.programs,
                                                compiled.executable.packed, compiled.attention},
                                               plan, dims));
    graphs.push_back(std::move(report));
  }
  return common.json ? report_json(compiled, graphs) : report_text(compiled, graphs, options);
}

}  // namespace

void add_compile(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "compile", "compiles a module ahead of time",
                                  "weft compile tiny.weft -o tiny.weftx --dump-ir ir/");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("-o,--output", options->output,
                      "OUT.weftx for the executable; .weft or .weftb for the fused module");
  command->add_option("--dump-ir", options->dump_dir,
                      "folder for NN-PASS.weft after each pass, and kernels/NAME.{tile,ll,s}");
  command->add_flag("--explain", options->explain, "which kernel runs each op, and why");
  command->add_flag("--bounds-checks", options->bounds_checks,
                    "check every access of the generated code");
  add_pass_options(command, options->passes);
  command
      ->add_flag("--require-fused-attention", options->require_fused_attention,
                 "fail if an attention is left as products with the scores in memory")
      ->excludes("--no-fuse-attention");
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
