// How good a trained model is on files: loss, perplexity, accuracy, BLEU, exact matches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/decode/search.h"
#include "driver/eval/bleu.h"
#include "driver/eval/loss.h"

namespace weft::eval {

// What a run makes of files of its kind, by the weights that stand for it.
struct LossReport {
  Evaluation found;
  data::SplitFacts facts;
  bool has_perplexity = false;  // the loss is a cross entropy
};
Result<LossReport> evaluate_run(const std::string& folder, const data::TaskFiles& files,
                                const train::DeviceOptions& device);

struct TranslationReport {
  std::vector<std::string> hypotheses;
  std::vector<std::string> warnings;  // "line 3 has .."
  Bleu bleu;
  double exact_match = 0;  // share of translations that equal their reference
  double seconds = 0;      // of translating
  int64_t tokens = 0;
};
struct TranslationOptions {
  decode::SearchOptions search;
  BleuOptions bleu;
  int64_t batch = 64;
};
Result<TranslationReport> evaluate_translation(decode::DecodeModel& model,
                                               const std::vector<std::string>& sources,
                                               const std::vector<std::string>& references,
                                               const TranslationOptions& options);

// Lines of a file, plain or gzipped; for two that go together, see same_length.
Result<std::vector<std::string>> read_lines(const std::string& path);
Status same_length(const std::string& a, size_t lines_of_a, const std::string& b,
                   size_t lines_of_b);

}  // namespace weft::eval
