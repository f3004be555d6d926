// SPDX-License-Identifier: Apache-2.0
#include "driver/data/task.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "driver/data/makers.h"
#include "driver/data/prepare.h"
#include "driver/data/task_json.h"
#include "driver/data/text_file.h"
#include "ir/support/file.h"
#include "ir/support/hash.h"

namespace weft::data {
namespace {

constexpr uint64_t kMaxRecordBytes = uint64_t{64} << 20;
constexpr const char* kRecord = "/data.json";
constexpr const char* kTrain = "/train.tokens";
constexpr const char* kValid = "/valid.tokens";

std::unique_ptr<BatchMaker> make_batches(const TaskRecord& record, Examples examples,
                                         bool training) {
  const TaskOptions& options = record.options;
  int64_t vocab = record.facts.vocab;
  auto classes = static_cast<int64_t>(record.facts.classes.size());
  switch (options.kind) {
    case TaskKind::translation:
      return translation_batches(std::move(examples), options, vocab, training);
    case TaskKind::language_model:
      return language_model_batches(std::move(examples), options, vocab, training);
    case TaskKind::text_classification:
      return text_batches(std::move(examples), options, vocab, classes, training);
    case TaskKind::image_classification: break;
  }
  return image_batches(std::move(examples), options, record.pixels, classes, training);
}

// The facts of what was tokenised, with the number of its batches: lengths decide it, and the order
// of an epoch does not change them.
Result<SplitFacts> facts_of(const TaskRecord& record, const Encoded& encoded, bool training) {
  SplitFacts facts = encoded.facts;
  WEFT_TRY(facts.batches, make_batches(record, encoded.examples, training)->begin_epoch(0));
  return facts;
}

class RunTask final : public Task {
 public:
  RunTask(std::string folder, TaskRecord record, TokenizerPtr tokenizer)
      : folder_(std::move(folder)), record_(std::move(record)), tokenizer_(std::move(tokenizer)) {}

  const TaskOptions& options() const override { return record_.options; }
  const TaskFacts& facts() const override { return record_.facts; }
  const Tokenizer* tokenizer() const override { return tokenizer_.get(); }

  Result<std::unique_ptr<BatchStream>> train_stream() override {
    WEFT_TRY(Examples examples, Examples::open(folder_ + kTrain));
    return stream(std::move(examples), folder_ + kTrain, record_.facts.train, true);
  }
  Result<std::unique_ptr<BatchStream>> valid_stream() override {
    WEFT_TRY(Examples examples, Examples::open(folder_ + kValid));
    return stream(std::move(examples), folder_ + kValid, record_.facts.valid, false);
  }
  Result<std::unique_ptr<BatchStream>> stream_of(const TaskFiles& files,
                                                 SplitFacts* facts) override {
    const TaskOptions& options = record_.options;
    EncodeOptions how{
        .options = options, .tokenizer = tokenizer_.get(), .classes = record_.facts.classes};
    WEFT_TRY(Encoded encoded, encode(how, files, {}, ""));
    if (facts != nullptr) {
      WEFT_TRY(*facts, facts_of(record_, encoded, false));
    }
    return stream(std::move(encoded.examples), "", encoded.facts, false);
  }

 private:
  // Whether the file is the one that data.json speaks of.
  bool belongs(const Examples& examples, const SplitFacts& facts) const {
    const TaskOptions& options = record_.options;
    bool images = options.kind == TaskKind::image_classification;
    if ((examples.element() == Element::f32) != images) return false;
    if (options.kind == TaskKind::language_model) {
      return examples.fields() == 1 && examples.count() == 1 &&
             examples.length(0, 0) == facts.source_tokens &&
             examples.length(0, 0) > options.context;
    }
    int64_t pixels = options.image_height * options.image_width * options.image_channels;
    return examples.fields() == 2 && examples.count() > 0 && examples.count() == facts.examples &&
           (!images || examples.length(0, 0) == pixels);
  }

  Result<std::unique_ptr<BatchStream>> stream(Examples examples, const std::string& path,
                                              const SplitFacts& facts, bool training) {
    if (!belongs(examples, facts)) {
      return error(file_loc(path), "does not belong to the data.json beside it")
          .hint("begin a new run");
    }
    return make_stream(make_batches(record_, std::move(examples), training));
  }

  std::string folder_;
  TaskRecord record_;
  TokenizerPtr tokenizer_;
};

// Which parts of which files are trained on and validated on.
struct Split {
  Part train;
  Part valid;
  const TaskFiles& valid_files;
};

Result<Split> split(const TaskOptions& options, int64_t size) {
  if (options.valid != TaskFiles()) {
    WEFT_TRY([[maybe_unused]] Survey checked_files, survey(options, options.valid));
    return Split{{}, {}, options.valid};
  }
  // floor(0.9 n), as n - ceil(n / 10).
  int64_t train = size - (size + 9) / 10;
  if (train == 0) {
    return error(file_loc(main_file(options.kind, options.train)),
                 "is too small to hold out a tenth for validation")
        .hint("give files to validate on, or more data");
  }
  return Split{{0, train}, {train, size}, options.train};
}

// Mean 0 and spread 1 over all pixels that are trained on.
PixelScale scale_of(const PixelSums& sums) {
  if (sums.count == 0) return {};
  double mean = sums.sum / sums.count;
  double variance = sums.squares / sums.count - mean * mean;
  return {mean, variance > 0 ? 1 / std::sqrt(variance) : 1};
}

Result<std::unique_ptr<Task>> build_task(const TaskOptions& options, const std::string& folder) {
  TaskRecord record;
  record.options = options;
  WEFT_TRY(Survey found, survey(options, options.train));
  WEFT_TRY(Split parts, split(options, found.size));
  record.facts.classes = class_names(found.labels);
  bool classified = options.kind == TaskKind::text_classification ||
                    options.kind == TaskKind::image_classification;
  if (classified && record.facts.classes.size() < 2) {
    return error(file_loc(options.train.table), "column '", options.label_column,
                 "' has the same label in every row");
  }
  WEFT_TRY(TokenizerPtr tokenizer,
           learn_tokenizer(options, options.train, parts.train, found.text_bytes));
  if (tokenizer) {
    record.facts.vocab = tokenizer->vocab();
    std::string bytes = tokenizer->serialize();
    record.tokenizer_digest = digest(bytes);
    WEFT_TRY_STATUS(write_file(folder + "/" + tokenizer->file_name(), bytes));
  }
  EncodeOptions how{.options = options,
                    .tokenizer = tokenizer.get(),
                    .classes = record.facts.classes,
                    .training = true};
  WEFT_TRY(Encoded train, encode(how, options.train, parts.train, folder + kTrain));
  how.training = false;
  WEFT_TRY(Encoded valid, encode(how, parts.valid_files, parts.valid, folder + kValid));
  record.facts.longest = std::max(train.facts.longest, valid.facts.longest);
  record.pixels = scale_of(train.pixels);
  WEFT_TRY(record.facts.train, facts_of(record, train, true));
  WEFT_TRY(record.facts.valid, facts_of(record, valid, false));
  WEFT_TRY_STATUS(write_file(folder + kRecord, to_json(record)));
  return std::unique_ptr<Task>(
      std::make_unique<RunTask>(folder, std::move(record), std::move(tokenizer)));
}

}  // namespace

Result<std::unique_ptr<Task>> prepare_task(const TaskOptions& options, const std::string& folder) {
  WEFT_TRY(TaskOptions whole, checked(options));
  if (!std::filesystem::exists(folder + kRecord)) return build_task(whole, folder);
  WEFT_TRY(std::unique_ptr<Task> task, open_task(folder));
  std::string difference = first_difference(task->options(), whole);
  if (difference.empty()) return task;
  return error(file_loc(folder + kRecord), "the run has other data: ", difference)
      .hint("give another folder, or go on with what the run has: --resume");
}

Result<std::unique_ptr<Task>> open_task(const std::string& folder) {
  std::string path = folder + kRecord;
  WEFT_TRY(std::string text, read_file(path, kMaxRecordBytes));
  WEFT_TRY(TaskRecord record, parse_task_record(path, text));
  Result<TaskOptions> options = checked(record.options);
  if (!options.ok() || *options != record.options) {
    return error(file_loc(path), "the options make no task").hint("begin a new run");
  }
  TokenizerPtr tokenizer;
  if (record.options.kind != TaskKind::image_classification) {
    WEFT_TRY(tokenizer, open_tokenizer(folder, record.options.tokenizer, record.tokenizer_digest));
    if (tokenizer->vocab() != record.facts.vocab) {
      return error(file_loc(folder + "/" + tokenizer->file_name()), "has ", tokenizer->vocab(),
                   " tokens, but data.json says ", record.facts.vocab);
    }
  }
  return std::unique_ptr<Task>(
      std::make_unique<RunTask>(folder, std::move(record), std::move(tokenizer)));
}

DimBinding largest_sizes(const Task& task) {
  const TaskOptions& options = task.options();
  const int64_t longest = std::max<int64_t>(task.facts().longest, 1);
  int64_t rows = options.batch > 0 ? options.batch : INT64_MAX;
  if (options.max_tokens > 0) {
    rows = std::min(rows, (options.max_tokens + longest - 1) / longest);
  }
  if (rows == INT64_MAX) return {};
  return {{"B", rows}, {"S", longest}, {"T", longest}};
}

}  // namespace weft::data
