// weft derive: the graphs that decode a token at a time.
// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/derive.h"

#include "driver/model_file.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  DecodeRequest request;
};

Status derive(const Options& options, const Common& common) {
  WEFT_TRY(Module module, load_model(options.model));
  remember_for_reproducer(module);
  WEFT_TRY(DecodeGraphs made, decode_graphs(std::move(module), options.request));
  return put_module(common, made.module, options.output);
}

}  // namespace

void add_derive(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "derive", "makes @prefill and @decode, for a token at a time",
                  "weft derive gpt2 -o decode.weft");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("-o,--output", options->output, "file to write; standard output if left out");
  command->add_option("--graph", options->request.graph, "the graph for all positions")
      ->capture_default_str();
  command->add_flag("--weights", options->request.weights,
                    "@decode also returns how much it attends to each source position");
  on_run(session, command, [&session, options] { return derive(*options, session.common); });
}

}  // namespace weft::cli
