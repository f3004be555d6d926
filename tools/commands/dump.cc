// weft dump: the IR at any point of the pipeline.
// SPDX-License-Identifier: Apache-2.0
#include "driver/cache_folder.h"
#include "driver/compile.h"
#include "driver/model_file.h"
#include "driver/tuning.h"
#include "driver/view/diff.h"
#include "driver/view/plan_text.h"
#include "driver/view/view.h"
#include "ir/text/text.h"
#include "ir/tile/text.h"
#include "passes/pass.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string after;
  std::string diff;
  std::string focus;
  std::string graph;
  std::string format = "text";
  PassFlags passes;
  GradRequest grad;
  bool all = false;
  bool kernels = false;
};

PipelineOptions pipeline_of(const Options& options) {
  PipelineOptions pipeline = options.passes.pipeline();
  if (!options.grad.loss.empty()) pipeline.pass.grad = options.grad;
  return pipeline;
}

// `after` names the pass that made the module; empty for the module as read.
Status show(Module module, const std::string& after, const Options& options, const Common& common) {
  WEFT_TRY_STATUS(keep_graph(module, options.graph));
  std::string text;
  if (!options.focus.empty()) {
    WEFT_TRY(text, focus_text(module, options.focus));
  } else if (options.format == "dot") {
    text = to_dot(module);
  } else if (options.format == "html") {
    text = to_html(module);
  } else {
    text = print(module);
  }
  if (common.json) return put_json({{"module", module.name}, {"after", after}, {"text", text}});
  return put(text);
}

// The text before and after the first run of `pass` that changed something (or its last run).
Status show_diff(Module module, const Options& options, const Common& common) {
  WEFT_TRY_STATUS(keep_graph(module, options.graph));
  std::string before;
  std::string previous;
  std::string after;
  bool found = false;
  PipelineOptions pipeline = pipeline_of(options);
  pipeline.stop_after = options.diff;
  pipeline.after_pass = [&](const PassRecord& pass, const Module& now) -> Status {
    std::string text = print(now);
    if (pass.name == options.diff && (!found || before == after)) {
      before = previous;
      after = text;
      found = true;
    }
    previous = std::move(text);
    return ok();
  };
  WEFT_TRY(auto passes, run_pipeline(module, pipeline));
  std::string diff = unified_diff(before, after, "before " + options.diff, "after " + options.diff);
  return put_text(common, diff);
}

Status show_all(Module module, const Options& options, const Common& common) {
  PipelineOptions pipeline = pipeline_of(options);
  pipeline.after_pass = [&](const PassRecord& pass, const Module& now) -> Status {
    if (pass.skipped || (pass.index >= 0 && !pass.changed)) return ok();
    std::string step = cat(pass.index + 1, " ", pass.name);
    if (!common.json) WEFT_TRY_STATUS(put("// after " + step + "\n"));
    return show(now, step, options, common);
  };
  WEFT_TRY(auto passes, run_pipeline(module, pipeline));
  return ok();
}

// What follows the passes on graphs: no module, so only text.
constexpr std::string_view kLower = "lower";
constexpr std::string_view kPlan = "plan";

Result<PlannedModule> planned(Module module, const Options& options, const Common& common) {
  WEFT_TRY_STATUS(keep_graph(module, options.graph));
  if (!options.focus.empty() || options.format != "text") {
    return error({}, "Tile programs and plans are shown as a whole, as text")
        .hint("--focus and --format are for modules: --after fuse is the last one");
  }
  CompileRequest request;
  request.target_cpu = common.target_cpu;
  request.form = common.form;
  request.other_machine = true;
  request.choose_knobs = tuned_knobs(user_cache_folder(), common.target_cpu, common.threads);
  request.pipeline = pipeline_of(options);
  return plan_module(std::move(module), request);
}

// What the module's graphs launch, and on which memory.
Status show_plan(Module module, const Options& options, const Common& common) {
  WEFT_TRY(const PlannedModule made, planned(std::move(module), options, common));
  for (const GraphPlan& graph : made.plan.graphs) {
    const std::string text = plan_text(made.plan, graph);
    if (common.json) {
      WEFT_TRY_STATUS(put_json({{"graph", graph.graph}, {"after", kPlan}, {"text", text}}));
    } else {
      WEFT_TRY_STATUS(put(text));
    }
  }
  return ok();
}

// The Tile program of every kernel that the module's graphs run.
Status show_kernels(Module module, const Options& options, const Common& common) {
  WEFT_TRY(const PlannedModule made, planned(std::move(module), options, common));
  for (const tile::Program& program : made.plan.programs) {
    std::string text = tile::print(program);
    if (common.json) {
      WEFT_TRY_STATUS(put_json({{"kernel", program.name}, {"text", text}}));
    } else {
      WEFT_TRY_STATUS(put(text + "\n"));
    }
  }
  return ok();
}

Status dump(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  if (options.kernels || options.after == kLower) {
    return show_kernels(std::move(module), options, common);
  }
  if (options.after == kPlan) return show_plan(std::move(module), options, common);
  if (!options.diff.empty()) return show_diff(std::move(module), options, common);
  if (options.all) return show_all(std::move(module), options, common);
  if (!options.after.empty()) {
    PipelineOptions pipeline = pipeline_of(options);
    pipeline.stop_after = options.after;
    WEFT_TRY(auto passes, run_pipeline(module, pipeline));
  }
  return show(std::move(module), options.after, options, common);
}

}  // namespace

void add_dump(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "dump", "shows the IR, as read or after any pass",
                                  "weft dump train.weft --diff simplify");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  CLI::Option* after = command->add_option(
      "--after", options->after,
      "run the passes up to this one first; also lower (as --kernels) and plan");
  CLI::Option* diff = command->add_option("--diff", options->diff, "what this pass changed");
  CLI::Option* all =
      command->add_flag("--all", options->all, "after every pass that changed something");
  CLI::Option* kernels =
      command->add_flag("--kernels", options->kernels, "the Tile programs of the plan");
  after->excludes(diff)->excludes(all)->excludes(kernels);
  diff->excludes(all)->excludes(kernels);
  all->excludes(kernels);
  add_pass_options(command, options->passes);
  command->add_option("--loss", options->grad.loss,
                      "differentiate this output on the way, as `weft grad` does");
  command->add_option("--wrt", options->grad.wrt, "with --loss: of these, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--graph", options->graph, "only this graph");
  CLI::Option* focus = command->add_option(
      "--focus", options->focus, "only what concerns a value, parameter, op or part of the model");
  command->add_option("--format", options->format, "text, dot (Graphviz) or html (one page)")
      ->excludes(focus)
      ->excludes(diff)
      ->check(CLI::IsMember({"text", "dot", "html"}))
      ->capture_default_str();
  on_run(session, command, [&session, options] { return dump(*options, session.common); });
}

}  // namespace weft::cli
