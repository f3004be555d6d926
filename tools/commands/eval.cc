// weft eval: how good a trained model is on files.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "driver/devices.h"
#include "driver/eval/model_eval.h"
#include "driver/train/run_folder.h"
#include "ir/support/file.h"
#include "tools/decode_flags.h"

namespace weft::cli {
namespace {

struct Options {
  std::string run;
  std::string source;
  std::string reference;
  std::string text;
  std::string table;
  std::string label_column;
  std::string text_column;
  std::string hypothesis;  // translations made elsewhere
  std::string output;
  std::string bleu_tokens = "13a";
  eval::TranslationOptions translation;
};

std::string digits(double value, int count = 4) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", count, value);
  return text;
}

nlohmann::ordered_json bleu_json(const eval::Bleu& bleu, const eval::BleuOptions& options) {
  return {{"bleu", bleu.score},
          {"signature", eval::bleu_signature(options)},
          {"precisions", bleu.precisions},
          {"brevity_penalty", bleu.brevity_penalty},
          {"ratio", bleu.ratio()},
          {"hyp_len", bleu.hypothesis_length},
          {"ref_len", bleu.reference_length}};
}

Status put_report(const Common& common, const nlohmann::ordered_json& json,
                  const std::string& text) {
  return common.json ? put_json(json) : put(text);
}

// Which files the run's kind asks for; what is missing or does not belong is told.
Result<data::TaskFiles> files_for(const Options& o, const train::TrainOptions& run) {
  struct Wanted {
    const char* flag;
    const std::string& value;
    bool wanted;
  };
  const data::TaskKind kind = run.task.kind;
  const bool pairs = kind == data::TaskKind::translation;
  const bool text = kind == data::TaskKind::language_model;
  const Wanted all[] = {{"--src", o.source, pairs},
                        {"--ref", o.reference, pairs},
                        {"--text", o.text, text},
                        {"--csv", o.table, !pairs && !text}};
  std::string needs;
  for (const Wanted& item : all) {
    if (item.wanted) needs += cat(needs.empty() ? "" : " ", item.flag, " FILE");
  }
  for (const Wanted& item : all) {
    if (item.wanted == !item.value.empty()) continue;
    return error({}, item.flag, item.wanted ? " is missing" : " does not go with this run")
        .hint(cat("weft eval ", o.run, " ", needs));
  }
  const std::pair<const char*, std::pair<const std::string*, const std::string*>> columns[] = {
      {"--label-column", {&o.label_column, &run.task.label_column}},
      {"--text-column", {&o.text_column, &run.task.text_column}}};
  for (const auto& [flag, names] : columns) {
    if (names.first->empty() || *names.first == *names.second) continue;
    return error({}, flag, " is '", *names.first, "', and the run was trained with '",
                 *names.second, "'")
        .hint("leave it out: the run knows its columns");
  }
  return data::TaskFiles{o.source, o.reference, o.text, o.table};
}

// BLEU of translations in a file: no model is needed.
Status score_file(const Options& o, const Common& common) {
  if (!o.run.empty() || o.reference.empty()) {
    return error({}, "--hyp is compared with --ref, without a run")
        .hint("weft eval --hyp OUTPUT --ref FILE");
  }
  WEFT_TRY(std::vector<std::string> hypotheses, eval::read_lines(o.hypothesis));
  WEFT_TRY(std::vector<std::string> references, eval::read_lines(o.reference));
  WEFT_TRY_STATUS(
      eval::same_length(o.hypothesis, hypotheses.size(), o.reference, references.size()));
  const eval::BleuOptions& options = o.translation.bleu;
  const eval::Bleu bleu = eval::corpus_bleu(hypotheses, references, options);
  return put_report(common, bleu_json(bleu, options), eval::bleu_line(bleu, options) + "\n");
}

Status eval_translation(const Options& o, const Common& common, nlohmann::ordered_json& json,
                        std::string& text) {
  WEFT_TRY(std::vector<std::string> sources, eval::read_lines(o.source));
  WEFT_TRY(std::vector<std::string> references, eval::read_lines(o.reference));
  WEFT_TRY_STATUS(eval::same_length(o.source, sources.size(), o.reference, references.size()));
  decode::OpenOptions open = open_options(common);
  open.scores = o.translation.search.beam > 1;
  if (o.translation.search.beam == 1) open.beams = 1;
  WEFT_TRY(std::unique_ptr<decode::DecodeModel> model,
           decode::open_run(o.run, data::TaskKind::translation, open));
  WEFT_TRY(eval::TranslationReport report,
           eval::evaluate_translation(*model, sources, references, o.translation));
  for (const std::string& warning : report.warnings) warn(common, warning);
  json["exact_match"] = report.exact_match;
  json.update(bleu_json(report.bleu, o.translation.bleu));
  json["beam"] = o.translation.search.beam;
  json["seconds"] = report.seconds;
  json["tokens_per_s"] = static_cast<double>(report.tokens) / report.seconds;
  text += cat("exact match: ", digits(100 * report.exact_match, 2), "% of ", sources.size(),
              " sentences\n", eval::bleu_line(report.bleu, o.translation.bleu), "\n");
  if (o.output.empty()) return ok();
  std::string lines;
  for (const std::string& line : report.hypotheses) lines += line + "\n";
  return write_file(o.output, lines);
}

Status eval_run(const Options& o, const Common& common) {
  if (o.run.empty()) {
    return error({}, "which run?").hint("weft eval RUN --src FILE --ref FILE");
  }
  WEFT_TRY(train::RunFolder folder, train::RunFolder::open(o.run));
  WEFT_TRY(train::TrainOptions run, folder.read_config());
  WEFT_TRY(data::TaskFiles files, files_for(o, run));
  WEFT_TRY(eval::LossReport report, eval::evaluate_run(o.run, files, open_options(common).device));
  nlohmann::ordered_json json = {{"run", o.run},
                                 {"examples", report.facts.examples},
                                 {"labels", report.found.labels},
                                 {"loss", report.found.loss}};
  std::string text = cat("loss: ", digits(report.found.loss), "\n");
  if (report.has_perplexity) {
    json["ppl"] = std::exp(report.found.loss);
    text += cat("perplexity: ", digits(std::exp(report.found.loss)), "\n");
  }
  if (report.found.accuracy >= 0) {
    json["accuracy"] = report.found.accuracy;
    text += cat("accuracy: ", digits(100 * report.found.accuracy, 2), "% of ", report.found.labels,
                " examples\n");
  }
  if (report.facts.cut > 0) {
    warn(common, cat(report.facts.cut, " examples are longer than the model takes: ",
                     "in the loss, only their beginning counts"));
  }
  if (run.task.kind == data::TaskKind::translation) {
    WEFT_TRY_STATUS(eval_translation(o, common, json, text));
  }
  return put_report(common, json, text);
}

}  // namespace

void add_eval(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command = add_command(session, "eval", "measures a trained model on files",
                                  "weft eval run --src test.en --ref test.de --beam 5");
  command->add_option("run", options->run, "folder of a run");
  command->add_option("--src", options->source, "sentences to translate, one a line");
  command->add_option("--ref", options->reference, "their translations");
  command->add_option("--text", options->text, "text for a language model");
  command->add_option("--csv", options->table, "a table with the columns of the training data");
  command->add_option("--label-column", options->label_column, "as in training");
  command->add_option("--text-column", options->text_column, "as in training");
  command->add_option("--hyp", options->hypothesis,
                      "translations made elsewhere: their BLEU with --ref, without a run");
  command->add_option("-o,--output", options->output, "file for the translations");
  command->add_option("--bleu-tokenizer", options->bleu_tokens, "13a, none or char")
      ->check(CLI::IsMember({"13a", "none", "char"}))
      ->capture_default_str();
  command->add_flag("--lowercase", options->translation.bleu.lowercase, "BLEU without case");
  add_search_flags(command, options->translation.search);
  command->add_option("--batch", options->translation.batch, "sentences at a time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  on_run(session, command, [&session, options]() -> Status {
    options->translation.bleu.tokens = *eval::parse_bleu_tokens(options->bleu_tokens);
    WEFT_TRY_STATUS(decode::check(options->translation.search));
    if (!options->hypothesis.empty()) return score_file(*options, session.common);
    WEFT_TRY(std::string notice, choose_device(session.common.device));
    if (!notice.empty()) note(session.common, notice);
    return eval_run(*options, session.common);
  });
}

}  // namespace weft::cli
