// weft verify: the oracle before and after every pass.
// SPDX-License-Identifier: Apache-2.0
#include "driver/model_file.h"
#include "passes/verify_passes.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  GraphOptions graph;
  bool fast_math = false;
};

Status report(const VerifyReport& result, const Common& common) {
  if (common.json) {
    nlohmann::json graphs = nlohmann::json::array();
    for (const auto& run : result.graphs)
      graphs.push_back({{"name", run.name}, {"dims", run.dims}});
    nlohmann::json line = {
        {"ok", result.ok()}, {"graphs", graphs}, {"passes", result.passes.size()}};
    if (const auto& d = result.difference) {
      line["difference"] = {{"pass", d->pass},   {"rule", d->rule},     {"value", d->value},
                            {"graph", d->graph}, {"output", d->output}, {"text", d->str()}};
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
  return put(text);
}

Status run(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  VerifyOptions verify;
  verify.graph = options.graph.graph;
  WEFT_TRY(verify.dims, dim_binding(module, options.graph));
  verify.seed = common.seed;
  verify.pass.fast_math = options.fast_math;
  WEFT_TRY(VerifyReport result, verify_passes(module, verify));
  WEFT_TRY_STATUS(report(result, common));
  if (!result.ok()) return error({}, result.difference->str());
  return ok();
}

}  // namespace

void add_verify(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "verify", "runs the oracle before and after every pass",
                                  "weft verify train.weft --graph @backward --dim B=3");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_flag("--fast-math", options->fast_math,
                    "also rules that are wrong for NaN or infinities");
  add_graph_options(command, options->graph);
  on_run(session, command, [&session, options] { return run(*options, session.common); });
}

}  // namespace weft::cli
