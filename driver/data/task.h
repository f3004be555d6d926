// Tasks: from files to batches of a training run, kept in the run's folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/data/augment.h"
#include "driver/data/batches.h"
#include "driver/data/tokenizer.h"

namespace weft::data {

enum class TaskKind : uint8_t {
  translation,           // --src, --tgt: inputs src [B, S], tgt [B, T], labels [B, T]
  language_model,        // --text: tokens [B, T], labels [B, T]
  text_classification,   // --csv with --text-column: tokens [B, T], labels [B]
  image_classification,  // --csv with --image: image [B, H, W, channels], labels [B]
};

// Which files; each may be gzipped. Lists that are empty do not count for the kind.
struct TaskFiles {
  std::string source = {};  // translation: one sentence a line
  std::string target = {};  // the line of the same number is its translation
  std::string text = {};    // language model
  std::string table = {};   // classification: CSV, or TSV if the header has a tab; first row: names

  bool operator==(const TaskFiles&) const = default;
};

// All of it is chosen before a run and stays for its life.
struct TaskOptions {
  TaskKind kind = TaskKind::translation;
  TaskFiles train = {};
  TaskFiles valid = {};  // empty: the last 10% of the training files is held out

  TokenizerKind tokenizer = TokenizerKind::bpe;
  int64_t vocab = 10000;     // of subwords, at most: a small corpus may have fewer
  bool exact_vocab = false;  // fewer is an error

  std::string label_column = {};
  std::string text_column = {};
  int64_t image_height = 0;
  int64_t image_width = 0;
  int64_t image_channels = 1;  // pixels are in the order of the columns: row, column, channel

  int64_t batch = 0;          // examples in a batch, at most; 0: as many as max_tokens allows
  int64_t max_tokens = 0;     // in a batch, padding and all, of the longer side; 0: no limit
                              // both 0: 4096 tokens of translation, 12 windows, 32 texts or images
  int64_t context = 64;       // language model: tokens in a window
  int64_t max_length = 1024;  // of a sequence: see SplitFacts for what is longer
  int64_t length_multiple = 2;  // lengths are padded to a multiple, so that there are few shapes
  int64_t ignore_label = 0;     // translation: the label of padding
  uint64_t seed = 1;            // of the order

  // In training only, as a function of seed, epoch and example.
  double word_dropout = 0;  // share of the tokens that are read which become kUnknown: of texts to
                            // classify, of sources to translate
  Augment augment = {};     // of images

  bool operator==(const TaskOptions&) const = default;
};

// What came of a set of files.
struct SplitFacts {
  int64_t examples = 0;  // pairs, texts, images; language model: whole windows
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;  // labels that count, in an epoch
  int64_t left_out = 0;       // pairs to train on with an empty side, or one beyond max_length
  int64_t cut = 0;            // other texts, of which only the beginning up to max_length is used
  int64_t longest = 0;        // sequence in a batch, with what rounding adds; 0 for images
  int64_t batches = 0;        // in every epoch

  bool operator==(const SplitFacts&) const = default;
};

// What a model for the task has to fit.
struct TaskFacts {
  int64_t vocab = 0;                 // 0 for images
  std::vector<std::string> classes;  // names of the labels 0, 1, ..; empty unless classified
  int64_t longest = 0;               // of both splits: the least max_length of a model
  SplitFacts train;
  SplitFacts valid;
};

// The data of one run. Streams may outlive it.
class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskOptions& options() const = 0;
  virtual const TaskFacts& facts() const = 0;
  virtual const Tokenizer* tokenizer() const = 0;  // null for images

  // Shuffled anew in each epoch; a language model's windows begin at random places, and an epoch
  // is as many batches as would cover the text once. Prepared ahead on a thread of its own.
  virtual Result<std::unique_ptr<BatchStream>> train_stream() = 0;
  // Every example once, in one order; a language model's windows are whole and do not overlap.
  virtual Result<std::unique_ptr<BatchStream>> valid_stream() = 0;
  // The same over other files, tokenised now. Fails on labels that training did not have.
  virtual Result<std::unique_ptr<BatchStream>> stream_of(const TaskFiles& files,
                                                         SplitFacts* facts = nullptr) = 0;
};

// Sizes that make each tensor of a step as large as any batch does: the longest sequences, and of
// those as many as a batch may hold. Nothing where batches have no limit.
DimBinding largest_sizes(const Task& task);

// Reads and tokenises the files, and writes to the folder, which exists: `data.json` (settings and
// facts), `tokenizer.model` or `tokenizer.json`, `train.tokens` and `valid.tokens`. `data.json`
// comes last: without it, nothing was prepared, and the same call begins again with the same
// outcome. If it is there with equal options, the task is opened as it is.
Result<std::unique_ptr<Task>> prepare_task(const TaskOptions& options, const std::string& folder);
// What prepare_task left in a folder. Needs none of the files that it read.
Result<std::unique_ptr<Task>> open_task(const std::string& folder);

// The options as JSON and back, for a run's config.
std::string to_json(const TaskOptions& options);
Result<TaskOptions> parse_task_options(const std::string& json);

}  // namespace weft::data
