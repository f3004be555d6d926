// SPDX-License-Identifier: Apache-2.0
#include "driver/data/prepare.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "driver/data/text_file.h"

namespace weft::data {
namespace {

// Subwords are learned from about this much text, evenly spread over more.
constexpr int64_t kLearnBytes = int64_t{64} << 20;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [at, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || at != end) return std::nullopt;
  return value;
}

// Every `stride`-th row's texts: source and target take turns.
class RowTexts final : public TextSource {
 public:
  RowTexts(RowReader& rows, int64_t stride) : rows_(rows), stride_(stride) {}

  Result<bool> next(std::string_view& text) override {
    if (!row_.target.empty()) {
      text = row_.target;
      row_.target = {};
      return true;
    }
    for (int64_t i = 0; i < stride_; ++i) {
      WEFT_TRY(bool more, rows_.next(row_));
      if (!more) return false;
    }
    text = row_.text;
    return true;
  }

 private:
  RowReader& rows_;
  int64_t stride_;
  Row row_;
};

Status need(bool there, const char* what) {
  if (there) return ok();
  return error({}, what, " is missing");
}

Status check_files(const TaskOptions& options, const TaskFiles& files) {
  switch (options.kind) {
    case TaskKind::translation:
      WEFT_TRY_STATUS(need(!files.source.empty(), "the file of source sentences (--src)"));
      return need(!files.target.empty(), "the file of target sentences (--tgt)");
    case TaskKind::language_model: return need(!files.text.empty(), "the file of text (--text)");
    case TaskKind::text_classification:
      WEFT_TRY_STATUS(need(!options.text_column.empty(), "the column of texts (--text-column)"));
      break;
    case TaskKind::image_classification:
      WEFT_TRY_STATUS(need(options.image_height > 0 && options.image_width > 0,
                           "the size of the images (--image HxW)"));
      break;
  }
  WEFT_TRY_STATUS(need(!options.label_column.empty(), "the column of labels (--label-column)"));
  return need(!files.table.empty(), "the table (--csv)");
}

struct Range {
  const char* name;
  int64_t value;
  int64_t low;
  int64_t high;
};

Status check_sizes(const TaskOptions& options) {
  constexpr int64_t kMax = int64_t{1} << 24;
  const Range ranges[] = {
      {"--vocab-size", options.vocab, 5, kMax},
      {"--batch", options.batch, 0, 65536},
      {"--max-tokens", options.max_tokens, 0, kMax},
      {"--context", options.context, 1, kMax},
      {"the longest sequence", options.max_length, 2, kMax},
      {"the multiple of lengths", options.length_multiple, 1, 1024},
      {"the height of an image", options.image_height, 0, 4096},
      {"the width of an image", options.image_width, 0, 4096},
      {"channels of an image", options.image_channels, 1, 16},
  };
  for (const Range& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    return error({}, range.name, " is ", range.value, ", expected ", range.low, " to ", range.high);
  }
  return ok();
}

// What is done to training examples only.
Status check_changes(const TaskOptions& options) {
  const bool reads_sentences =
      options.kind == TaskKind::text_classification || options.kind == TaskKind::translation;
  if (!(options.word_dropout >= 0 && options.word_dropout < 1)) {
    return error({}, "--word-dropout is ", options.word_dropout, ", expected 0 to 1")
        .hint("use a value such as 0.1");
  }
  if (options.word_dropout > 0 && !reads_sentences) {
    return error({}, "--word-dropout is for texts to classify and sources to translate");
  }
  if (options.augment.any() && options.kind != TaskKind::image_classification) {
    return error({}, "--augment is for images").hint("leave it out");
  }
  return check(options.augment);
}

}  // namespace

Result<TaskOptions> checked(TaskOptions options) {
  WEFT_TRY_STATUS(check_sizes(options));
  WEFT_TRY_STATUS(check_changes(options));
  WEFT_TRY_STATUS(check_files(options, options.train));
  if (options.valid != TaskFiles()) WEFT_TRY_STATUS(check_files(options, options.valid));
  if (options.batch == 0 && options.max_tokens == 0) {
    switch (options.kind) {
      case TaskKind::translation: options.max_tokens = 4096; break;
      case TaskKind::language_model: options.batch = 12; break;
      default: options.batch = 32;
    }
  }
  bool windows = options.kind == TaskKind::language_model;
  if (windows && options.batch == 0 && options.max_tokens < options.context) {
    return error({}, "--max-tokens ", options.max_tokens, " does not hold a window of ",
                 options.context)
        .hint("give a smaller --context");
  }
  return options;
}

std::vector<std::string> class_names(const std::set<std::string>& labels) {
  std::vector<std::string> names(labels.begin(), labels.end());
  bool numbers = std::all_of(names.begin(), names.end(),
                             [](const std::string& text) { return number_of(text).has_value(); });
  if (numbers) {
    std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return *number_of(a) < *number_of(b);
    });
  }
  return names;
}

Result<TokenizerPtr> learn_tokenizer(const TaskOptions& options, const TaskFiles& files, Part part,
                                     int64_t text_bytes) {
  if (options.kind == TaskKind::image_classification) return TokenizerPtr();
  bool language_model = options.kind == TaskKind::language_model;
  bool characters = options.tokenizer == TokenizerKind::characters;
  WEFT_TRY(auto rows, open_rows(options, files, part));
  int64_t stride = characters ? 1 : (text_bytes + kLearnBytes - 1) / kLearnBytes;
  RowTexts texts(*rows, std::max<int64_t>(stride, 1));
  if (characters) return make_characters(texts, !language_model);
  return make_subwords(texts, {.kind = options.tokenizer,
                               .vocab = options.vocab,
                               .exact = options.exact_vocab,
                               .lossless = language_model});
}

}  // namespace weft::data
