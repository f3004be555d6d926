// weft grad: adds the backward pass.
// SPDX-License-Identifier: Apache-2.0
#include "driver/differentiate.h"
#include "driver/model_file.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  GradRequest request;
  PassFlags passes;
};

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
  add_pass_options(command, options->passes);
  command->add_option(
      "-o,--output", options->output,
      "file to write: .weft (text) or .weftb (binary); standard output if left out");
  on_run(session, command, [&session, options]() -> Status {
    WEFT_TRY(Module module, load_model(options->model));
    remember_for_reproducer(module);
    WEFT_TRY(std::vector<PassRecord> passes,
             differentiate(module, options->request, options->passes.pipeline()));
    if (session.common.verbose) {
      for (const PassRecord& pass : passes) {
        note(session.common, cat(pass.name, ": ", pass.milliseconds, " ms"));
      }
    }
    return put_module(session.common, module, options->output);
  });
}

}  // namespace weft::cli
