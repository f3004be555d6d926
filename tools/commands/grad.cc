// weft grad: adds the backward pass.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "driver/model_file.h"
#include "passes/pass.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  GradRequest request;
};

// The user's own graphs stay as written: only what differentiation added is taken over.
void take_new_parts(Module& module, const Module& differentiated) {
  StorageLookup known(module);
  std::vector<Storage> fresh;
  for (const Storage& item : differentiated.storage) {
    if (known.find(item.name) == nullptr) fresh.push_back(item);
  }
  std::move(fresh.begin(), fresh.end(), std::back_inserter(module.storage));
  for (const Graph& graph : differentiated.graphs) {
    if (module.find_graph(graph.name()) == nullptr) module.graphs.push_back(graph);
  }
}

}  // namespace

void add_grad(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "grad", "adds @backward (and @train_step) to a module",
                                  "weft grad tiny.weft --loss loss --optimizer adam -o train.weft");
  command->add_option("model", options->model, "a .weft or .weftb file, or a preset")->required();
  command->add_option("--loss", options->request.loss, "name of the output to differentiate")
      ->required();
  command->add_option("--graph", options->request.graph, "the graph that returns the loss");
  command
      ->add_option("--wrt", options->request.wrt,
                   "parameters or inputs, separated by commas; all parameters if left out")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--optimizer", options->request.optimizer,
                   "also make @train_step with this optimizer")
      ->check(CLI::IsMember({"adam", "adamw", "sgd"}));
  command->add_option(
      "-o,--output", options->output,
      "file to write: .weft (text) or .weftb (binary); standard output if left out");
  on_run(session, command, [&session, options]() -> Status {
    WEFT_TRY(Module module, load_model(options->model));
    remember_for_reproducer(module);
    PipelineOptions pipeline;
    pipeline.pass.grad = options->request;
    pipeline.stop_after = "autodiff";
    Module differentiated = module;
    WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(differentiated, pipeline));
    take_new_parts(module, differentiated);
    if (session.common.verbose) {
      for (const PassRecord& pass : passes) {
        note(session.common, cat(pass.name, ": ", pass.milliseconds, " ms"));
      }
    }
    return put_module(session.common, module, options->output);
  });
}

}  // namespace weft::cli
