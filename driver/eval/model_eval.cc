// SPDX-License-Identifier: Apache-2.0
#include "driver/eval/model_eval.h"

#include <algorithm>
#include <chrono>

#include "driver/data/text_file.h"
#include "driver/decode/translate.h"
#include "driver/train/checkpoint.h"
#include "driver/train/run_folder.h"

namespace weft::eval {

Result<LossReport> evaluate_run(const std::string& folder, const data::TaskFiles& files,
                                const train::DeviceOptions& device) {
  WEFT_TRY(train::RunFolder run, train::RunFolder::open(folder));
  WEFT_TRY(train::TrainOptions options, run.read_config());
  WEFT_TRY(std::string weights, train::weights_of_run(folder));
  WEFT_TRY(std::unique_ptr<data::Task> task, data::open_task(folder));
  LossReport report;
  WEFT_TRY(std::unique_ptr<data::BatchStream> stream, task->stream_of(files, &report.facts));
  WEFT_TRY(Module module, train::build_model(options));
  std::erase_if(module.graphs, [](const Graph& graph) { return graph.name() == "loss"; });
  train::DeviceOptions with_sizes = device;
  with_sizes.sizes = data::largest_sizes(*task);
  WEFT_TRY(std::unique_ptr<train::TrainDevice> opened, train::open_device(module, with_sizes));
  WEFT_TRY_STATUS(train::load_parameters(weights, module.storage, *opened));
  WEFT_TRY(report.found, evaluate(module, *opened, *stream));
  report.has_perplexity = options.model.loss == Loss::cross_entropy;
  return report;
}

Result<TranslationReport> evaluate_translation(decode::DecodeModel& model,
                                               const std::vector<std::string>& sources,
                                               const std::vector<std::string>& references,
                                               const TranslationOptions& options) {
  TranslationReport report;
  const auto start = std::chrono::steady_clock::now();
  WEFT_TRY(std::vector<decode::Translated> done,
           decode::translate(model, sources, options.search, options.batch));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  int64_t equal = 0;
  for (size_t i = 0; i < done.size(); ++i) {
    for (const std::string& warning : done[i].warnings) {
      report.warnings.push_back(cat("line ", i + 1, " ", warning));
    }
    report.tokens += done[i].target_tokens;
    report.hypotheses.push_back(done[i].best[0].text);
    equal += i < references.size() && report.hypotheses[i] == references[i] ? 1 : 0;
  }
  report.exact_match =
      done.empty() ? 0 : static_cast<double>(equal) / static_cast<double>(done.size());
  report.bleu = corpus_bleu(report.hypotheses, references, options.bleu);
  return report;
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  WEFT_TRY(data::LineReader reader, data::LineReader::open(path));
  std::vector<std::string> lines;
  for (data::Line line;;) {
    WEFT_TRY(bool more, reader.next(line));
    if (!more) break;
    lines.emplace_back(line.text);
  }
  return lines;
}

Status same_length(const std::string& a, size_t lines_of_a, const std::string& b,
                   size_t lines_of_b) {
  if (lines_of_a == lines_of_b) return ok();
  return error({}, a, " has ", lines_of_a, " lines, and ", b, " has ", lines_of_b)
      .hint("line by line, the second is what the first should become");
}

}  // namespace weft::eval
