// weft explain: which kernel runs each op, what was joined and what not, bytes, flops, memory.
// SPDX-License-Identifier: Apache-2.0
#include "driver/explain.h"

#include "driver/cache_folder.h"
#include "driver/model_file.h"
#include "tools/cli.h"
#include "tools/graph_reports.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  PassFlags passes;
  GraphOptions graph;
};

nlohmann::json splits_json(const GraphReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SplitReport& split : report.splits) {
    rows.push_back(
        {{"producer", split.producer}, {"consumer", split.consumer}, {"reason", split.reason}});
  }
  return rows;
}

nlohmann::json attention_list_json(const GraphReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const AttentionLine& line : report.attention_lines) {
    nlohmann::json row = {{"value", line.value}, {"fused", line.reason.empty()}};
    if (line.reason.empty()) {
      row.update({{"form", line.form}, {"tiles", line.tiles}, {"saved_bytes", line.saved_bytes}});
    } else {
      row["reason"] = line.reason;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

nlohmann::json peak_json(const PeakMemory& peak) {
  nlohmann::json live = nlohmann::json::array();
  for (const LiveBuffer& buffer : peak.live) {
    live.push_back({{"name", buffer.name}, {"bytes", buffer.bytes}});
  }
  return {{"bytes", peak.bytes}, {"region", peak.region}, {"live", live}};
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY_STATUS(keep_graph(module, options.graph.graph));
  WEFT_TRY(DimBinding given, dim_binding(module, options.graph));
  CompileRequest request;
  if (is_vulkan(common.device)) {
    request.device = common.device;
    request.cache_folder = user_cache_folder();
  }
  request.target_cpu = common.target_cpu;
  request.form = common.form;
  request.other_machine = true;
  request.sizes = given;
  request.pipeline = options.passes.pipeline();
  WEFT_TRY(PlannedModule planned, plan_module(module, request));
  WEFT_TRY(const KernelForms forms, kernel_forms(planned, request));
  for (const GraphPlan& plan : planned.plan.graphs) {
    WEFT_TRY(DimBinding dims, usual_dims(module, plan.graph, options.model, given));
    WEFT_TRY(GraphReport report, explain_graph({planned.module, planned.plan.programs,
                                                planned.plan.packed, planned.attention, forms},
                                               plan, dims));
    if (!common.json) {
      WEFT_TRY_STATUS(put(explanation_text(report)));
      continue;
    }
    nlohmann::json line = graph_json(report);
    line["regions"] = regions_json(report);
    line["not_joined"] = splits_json(report);
    if (!report.kernel_forms.empty()) line["kernel_forms"] = report.kernel_forms;
    line["peak"] = peak_json(report.peak);
    line["attention"]["list"] = attention_list_json(report);
    WEFT_TRY_STATUS(put_json(line));
  }
  return ok();
}

}  // namespace

void add_explain(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "explain", "which kernel runs each op, what was not joined and why",
                  "weft explain transformer-tiny --graph @forward");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  add_pass_options(command, options->passes);
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
