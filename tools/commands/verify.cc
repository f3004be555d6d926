// weft verify: the oracle before and after every pass, then every kernel against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include "driver/cache_folder.h"
#include "driver/model_file.h"
#include "driver/tune.h"
#include "driver/verify_device.h"
#include "passes/verify_passes.h"
#include "tools/progress.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  GraphOptions graph;
  PassFlags passes;
};

// `device` is null where only passes were looked at.
Status report(const VerifyReport& result, const DeviceVerifyReport* device, const Common& common) {
  if (common.json) {
    nlohmann::json graphs = nlohmann::json::array();
    for (const auto& run : result.graphs)
      graphs.push_back({{"name", run.name}, {"dims", run.dims}});
    nlohmann::json line = {{"ok", result.ok() && (device == nullptr || device->ok())},
                           {"graphs", graphs},
                           {"passes", result.passes.size()}};
    if (const auto& d = result.difference) {
      line["difference"] = {{"pass", d->pass},   {"rule", d->rule},           {"value", d->value},
                            {"graph", d->graph}, {"output", d->found.output}, {"text", d->str()}};
    }
    if (device != nullptr) {
      line["device"] = {{"name", common.device},
                        {"regions", device->regions},
                        {"graphs", device->graphs},
                        {"difference", device->difference}};
    }
    return put_json(line);
  }
  std::string text;
  for (const auto& run : result.graphs) {
    text += "@" + run.name + " at";
    for (const auto& [symbol, size] : run.dims) text += cat(" ", symbol, "=", size);
    text += run.dims.empty() ? " its fixed sizes\n" : "\n";
  }
  if (result.ok()) text += cat("ok: ", result.passes.size(), " passes change no number\n");
  if (device != nullptr && device->ok()) {
    text += cat("ok: ", device->regions, " regions and ", device->graphs, " graphs on ",
                common.device, " agree with the oracle\n");
  }
  return put(text);
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  VerifyOptions verify;
  verify.graph = options.graph.graph;
  WEFT_TRY(verify.dims, dim_binding(module, options.graph));
  verify.seed = common.seed;
  verify.pass = options.passes.pipeline().pass;
  Progress progress(common);
  verify.progress = progress.callback();
  WEFT_TRY(VerifyReport result, verify_passes(module, verify));
  progress.clear();
  std::optional<DeviceVerifyReport> device;
  const bool on_cpu = common.device == "cpu" && has_code_generator();
  if (result.ok() && (on_cpu || is_vulkan(common.device))) {
    CompileRequest request;
    request.device = common.device;
    request.target_cpu = common.target_cpu;
    request.form = common.form;
    request.bounds_checks = true;
    request.cache_folder = user_cache_folder();
    request.choose_knobs = tuned_knobs(request, common.threads);
    request.pipeline = options.passes.pipeline();
    request.sizes = verify.dims;
    const DeviceVerifyOptions on_device = {verify, request, common.threads};
    WEFT_TRY(device, verify_device(module, on_device));
  }
  WEFT_TRY_STATUS(report(result, device ? &*device : nullptr, common));
  if (!result.ok()) return error({}, result.difference->str());
  if (device && !device->ok()) return error({}, device->difference);
  return ok();
}

}  // namespace

void add_verify(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "verify", "holds every pass, and every kernel, against the oracle",
                  "weft verify train.weft --graph @backward --dim B=3");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  add_rewrite_options(command, options->passes);
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
