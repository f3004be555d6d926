// SPDX-License-Identifier: Apache-2.0
#include "tools/decode_flags.h"

#include <cstdio>

namespace weft::cli {

void add_search_flags(CLI::App* command, decode::SearchOptions& options) {
  command->add_option("--beam", options.beam, "hypotheses that are followed; 1 is greedy")
      ->capture_default_str();
  command->add_option("--n-best", options.n_best, "translations of a line")->capture_default_str();
  command
      ->add_option("--length-penalty", options.length_penalty,
                   "hypotheses are compared by score / length^penalty")
      ->capture_default_str();
  command->add_option("--min-length", options.min_length, "tokens, at least");
  command->add_option("--max-length", options.max_length,
                      "tokens, at most; twice the source and 10 if left out");
  command->add_option("--no-repeat", options.no_repeat,
                      "no sequence of so many tokens twice; any if left out");
}

void add_model_flags(CLI::App* command, decode::ModelFiles& files, const char* trained_on) {
  command
      ->add_option("model", files.model,
                   cat("folder of a run that was trained on ", trained_on,
                       ", a .weft or .weftb file, or a preset"))
      ->required();
  command->add_option("--weights", files.weights,
                      "safetensors file with the parameters, in place of the model's own");
  command->add_option("--tokenizer", files.tokenizer,
                      "tokenizer of a model that is no run; the one beside its file if left out");
}

void warn(const Common& common, const std::string& text) {
  if (!common.quiet) std::fprintf(stderr, "warning: %s\n", text.c_str());
}

decode::OpenOptions open_options(const Common& common) {
  return {.device = {common.device, common.target_cpu, common.threads, common.seed, common.form}};
}

}  // namespace weft::cli
