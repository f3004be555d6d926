// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/translate.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "driver/decode/source_text.h"

namespace weft::decode {
namespace {

Result<Translation> as_text(const data::Tokenizer& tokenizer, Hypothesis hypothesis) {
  WEFT_TRY(std::string text, tokenizer.decode(hypothesis.tokens));
  std::ranges::replace(text, '\n', ' ');  // a line stays a line
  return Translation{std::move(text), std::move(hypothesis)};
}

void note_cut(Translated& line) {
  if (line.best.empty() || line.best[0].hypothesis.ended) return;
  line.warnings.push_back(cat("has no end after ", line.best[0].hypothesis.tokens.size(),
                              " tokens of its translation, which is cut there"));
}

}  // namespace

Result<std::vector<Translated>> translate(DecodeModel& model, const std::vector<std::string>& lines,
                                          const SearchOptions& options, int64_t batch) {
  WEFT_TRY_STATUS(check(options));
  const data::Tokenizer& tokenizer = model.tokenizer();
  std::vector<Translated> done(lines.size());
  std::vector<Ids> ids(lines.size());
  std::vector<size_t> order;  // of lines that hold something, by length
  for (size_t i = 0; i < lines.size(); ++i) {
    WEFT_TRY(SourceText source, read_source(tokenizer, lines[i], model.graphs.context - 1));
    done[i].warnings = std::move(source.warnings);
    ids[i] = std::move(source.ids);
    if (ids[i].empty()) {
      done[i].warnings.emplace_back("is empty, and so is its translation");
      done[i].best.emplace_back();
      done[i].best[0].hypothesis.ended = true;
      continue;
    }
    ids[i].push_back(data::kEnd);
    for (int32_t id : ids[i]) done[i].source.push_back(tokenizer.piece(id));
    done[i].source_tokens = static_cast<int64_t>(ids[i].size());
    order.push_back(i);
  }
  // The longest first: what they need is enough for all that follow.
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return ids[i].size(); });
  Decoder decoder(model);
  for (size_t first = 0; first < order.size(); first += static_cast<size_t>(batch)) {
    const size_t count = std::min(order.size() - first, static_cast<size_t>(batch));
    std::vector<Ids> sources;
    for (size_t i = 0; i < count; ++i) sources.push_back(ids[order[first + i]]);
    const auto start = std::chrono::steady_clock::now();
    WEFT_TRY(std::vector<std::vector<Hypothesis>> found, search(decoder, sources, options));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    done[order[first]].batch_ms = took.count();
    for (size_t i = 0; i < count; ++i) {
      Translated& line = done[order[first + i]];
      for (Hypothesis& hypothesis : found[i]) {
        WEFT_TRY(Translation best, as_text(tokenizer, std::move(hypothesis)));
        line.best.push_back(std::move(best));
      }
      if (line.best.empty()) return error({}, "the model gives no finite probabilities");
      line.target_tokens = static_cast<int64_t>(line.best[0].hypothesis.tokens.size());
      note_cut(line);
    }
  }
  return done;
}

}  // namespace weft::decode
