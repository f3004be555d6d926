// weft models: the presets, and writing one as a graph file.
// SPDX-License-Identifier: Apache-2.0
#include "driver/model_file.h"
#include "ir/graph/flops.h"
#include "models/zoo.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string name;
  std::string output;
};

std::string sizes_text(const DimBinding& sizes) {
  std::string out;
  for (const auto& [symbol, size] : sizes) {
    out += (out.empty() ? "" : " ") + symbol + "=" + std::to_string(size);
  }
  return out;
}

Status list(const Common& common) {
  if (!common.json) {
    WEFT_TRY_STATUS(put("name                parameters  forward GFLOP  at              what\n"));
  }
  for (const Preset& preset : presets()) {
    WEFT_TRY(Module module, preset.build());
    const Graph* forward = module.find_graph("forward");
    WEFT_CHECK(forward != nullptr, "every preset has @forward");
    WEFT_TRY(int64_t flops, count_flops(module, *forward, preset.sizes));
    int64_t parameters = parameter_count(module);
    if (common.json) {
      WEFT_TRY_STATUS(put_json({{"name", preset.name},
                                {"description", preset.description},
                                {"parameters", parameters},
                                {"flops", flops},
                                {"sizes", preset.sizes},
                                {"graphs", module.graph_names()}}));
      continue;
    }
    char line[256];
    std::snprintf(line, sizeof line, "%-17s %12s %14.2f  %-14s  ", std::string(preset.name).c_str(),
                  with_commas(parameters).c_str(), static_cast<double>(flops) / 1e9,
                  sizes_text(preset.sizes).c_str());
    WEFT_TRY_STATUS(put(line + std::string(preset.description) + "\n"));
  }
  return ok();
}

}  // namespace

void add_models(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "models", "lists presets; writes one as a graph file",
                                  "weft models transformer-tiny -o tiny.weft");
  command->add_option("name", options->name, "a preset");
  command->add_option(
      "-o,--output", options->output,
      "file to write: .weft (text) or .weftb (binary); standard output if left out");
  on_run(session, command, [&session, options]() -> Status {
    if (options->name.empty()) {
      if (!options->output.empty())
        return error({}, "which preset?").hint("weft models transformer-tiny -o tiny.weft");
      return list(session.common);
    }
    WEFT_TRY(Module module, load_model(options->name));
    return put_module(session.common, module, options->output);
  });
}

}  // namespace weft::cli
