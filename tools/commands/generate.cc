// weft generate: continues a text.
// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/generate.h"

#include <chrono>
#include <cstdio>

#include "driver/devices.h"
#include "tools/decode_flags.h"

namespace weft::cli {
namespace {

struct Options {
  decode::ModelFiles files;
  std::vector<std::string> prompts;
  decode::GenerateOptions generate;
};

Status put_piece(std::string_view piece) {
  WEFT_TRY_STATUS(put(std::string(piece)));
  std::fflush(stdout);
  return ok();
}

Status put_result(const std::string& prompt, const decode::Generated& made, double speed) {
  return put_json({{"prompt", prompt},
                   {"text", made.text},
                   {"tokens", made.tokens},
                   {"prompt_tokens", made.prompt_tokens},
                   {"ended_by", made.reason},
                   {"tokens_per_s", speed}});
}

void tell(const Common& common, const decode::Generated& made, const std::string& prompt) {
  for (const std::string& warning : made.warnings) warn(common, prompt + " " + warning);
  if (!common.verbose) return;
  note(common,
       cat(made.tokens.size(), " tokens after ", made.prompt_tokens, "; ended by ", made.reason));
}

Status generate(const Options& options, const Common& common) {
  WEFT_TRY(std::unique_ptr<decode::DecodeModel> model,
           decode::open_model(options.files, data::TaskKind::language_model, open_options(common)));
  for (const std::string& text : model->notes) note(common, text);
  std::vector<std::string> prompts = options.prompts;
  if (prompts.empty()) prompts.emplace_back();
  const bool streams = !common.json && prompts.size() == 1;
  if (streams) WEFT_TRY_STATUS(put_piece(prompts[0]));
  const auto start = std::chrono::steady_clock::now();
  decode::OnText on_text;
  if (streams) on_text = put_piece;
  Result<std::vector<decode::Generated>> made =
      decode::generate_all(*model, prompts, options.generate, on_text);
  if (streams) WEFT_TRY_STATUS(put("\n"));
  if (!made.ok()) return std::move(made).take_error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  size_t tokens = 0;
  for (const decode::Generated& one : *made) tokens += one.tokens.size();
  const double speed = static_cast<double>(tokens) / took.count();
  for (size_t i = 0; i < made->size(); ++i) {
    const decode::Generated& one = (*made)[i];
    tell(common, one, prompts.size() == 1 ? "the prompt" : cat("prompt ", i + 1));
    if (common.json) {
      WEFT_TRY_STATUS(put_result(prompts[i], one, speed));
    } else if (!streams) {
      WEFT_TRY_STATUS(put(prompts[i] + one.text + "\n"));
    }
  }
  if (common.verbose) note(common, cat(speed, " tokens/s"));
  return ok();
}

}  // namespace

void add_generate(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "generate", "continues a text with a trained language model",
                  "weft generate run --prompt 'ROMEO:' --temperature 0.8 --top-k 20");
  add_model_flags(command, options->files, "--text");
  command
      ->add_option("--prompt", options->prompts,
                   "what the text begins with; several give a text each, all at once")
      ->allow_extra_args(false);
  decode::GenerateOptions& o = options->generate;
  command->add_option("--max-tokens", o.max_tokens, "tokens, at most")->capture_default_str();
  command->add_option("--min-tokens", o.min_tokens, "tokens before an end counts");
  command->add_option("--temperature", o.sample.temperature, "0 always takes the likeliest")
      ->capture_default_str();
  command->add_option("--top-k", o.sample.top_k, "only the k likeliest tokens; 0: all");
  command
      ->add_option("--top-p", o.sample.top_p,
                   "only the likeliest tokens that together have this probability")
      ->capture_default_str();
  command->add_option("--stop", o.stops, "ends behind this text; may be given several times")
      ->allow_extra_args(false);
  CLI::Option* beam =
      command->add_option("--beam", o.beam, "the likeliest text by beam search; no sampling");
  command->add_option("--length-penalty", o.length_penalty, "with --beam: see weft translate")
      ->needs(beam);
  command->add_option("--no-repeat", o.sample.no_repeat,
                      "no sequence of so many tokens twice; any if left out");
  command->add_option("--repetition-penalty", o.sample.repetition_penalty,
                      "divides the odds of tokens that occurred; 1: off");
  on_run(session, command, [&session, options]() -> Status {
    options->generate.sample.seed = session.common.seed;
    WEFT_TRY_STATUS(decode::check(options->generate));
    WEFT_TRY(std::string notice, choose_device(session.common.device));
    if (!notice.empty()) note(session.common, notice);
    return generate(*options, session.common);
  });
}

}  // namespace weft::cli
