// Real data, where ../shared/data is beside the repository; skipped elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "driver/data/make_tokenizer.h"
#include "driver/data/task.h"
#include "driver/data/text_file.h"
#include "test_paths.h"
#include "tests/support/scratch.h"
#include "tests/support/suite.h"

namespace weft::data {
namespace {

const std::string kData = WEFT_SOURCE_DIR "/../shared/data/";

class SharedData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kData)) GTEST_SKIP() << kData << " is not here";
    if (!have_subwords() || !have_gzip()) GTEST_SKIP() << "built without sentencepiece or zlib";
  }

  void prepare(const TaskOptions& options) {
    std::string folder = scratch("shared-run");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    Result<std::unique_ptr<Task>> made = prepare_task(options, folder);
    ASSERT_TRUE(made.ok()) << render(made.diagnostics());
    task_ = std::move(made).value();
  }

  // Passes over an epoch, and holds its sums against the facts.
  void walk(Result<std::unique_ptr<BatchStream>> stream, const SplitFacts& facts) {
    ASSERT_TRUE(stream.ok()) << render(stream.diagnostics());
    int64_t examples = 0;
    int64_t source = 0;
    int64_t target = 0;
    padded_ = 0;
    batches_ = 0;
    shapes_.clear();
    for (;; ++batches_) {
      Result<const Batch*> next = (*stream)->next();
      ASSERT_TRUE(next.ok()) << render(next.diagnostics());
      if (*next == nullptr) break;
      const Batch& batch = **next;
      examples += batch.examples;
      source += batch.source_tokens;
      target += batch.target_tokens;
      padded_ += static_cast<int64_t>(batch.inputs.at("labels").bytes.size() / sizeof(int32_t));
      shapes_.insert(batch.dims);
    }
    EXPECT_EQ(examples, facts.examples);
    EXPECT_EQ(target, facts.target_tokens);
    EXPECT_EQ(batches_, facts.batches);
    EXPECT_EQ(source,
              task_->options().kind == TaskKind::language_model ? target : facts.source_tokens);
  }

  std::unique_ptr<Task> task_;
  int64_t padded_ = 0;
  int64_t batches_ = 0;
  std::set<DimBinding> shapes_;
};

TEST_F(SharedData, Multi30k) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  auto file = [](const char* split, const char* language) {
    return kData + "multi30k/tok/" + split + ".lc.norm.tok." + language + ".gz";
  };
  TaskOptions options{.kind = TaskKind::translation};
  options.train = {.source = file("train", "en"), .target = file("train", "de")};
  options.valid = {.source = file("val", "en"), .target = file("val", "de")};
  options.max_tokens = 4096;
  options.exact_vocab = true;
  prepare(options);
  EXPECT_EQ(task_->facts().vocab, 10000);
  EXPECT_EQ(task_->facts().train.examples, 29000);
  EXPECT_EQ(task_->facts().valid.examples, 1014);
  walk(task_->train_stream(), task_->facts().train);
  RecordProperty("batches", static_cast<int>(batches_));
  RecordProperty("shapes", static_cast<int>(shapes_.size()));
  EXPECT_GT(static_cast<double>(task_->facts().train.target_tokens),
            0.85 * static_cast<double>(padded_));
  walk(task_->valid_stream(), task_->facts().valid);
}

TEST_F(SharedData, TinyShakespeareByCharacters) {
  TaskOptions options{.kind = TaskKind::language_model};
  options.train.text = kData + "tinyshakespeare/input.txt";
  options.tokenizer = TokenizerKind::characters;
  options.batch = 12;
  prepare(options);
  EXPECT_EQ(task_->facts().vocab, 65);
  EXPECT_EQ(task_->facts().train.source_tokens, 1003854);
  EXPECT_EQ(task_->facts().valid.source_tokens, 111540);
  walk(task_->valid_stream(), task_->facts().valid);
  EXPECT_EQ(task_->facts().valid.examples, 1742);
}

TEST_F(SharedData, Sentiment) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  TaskOptions options{.kind = TaskKind::text_classification};
  options.train.table = kData + "sentiment/nsmc30k.train.tsv.gz";
  options.valid.table = kData + "sentiment/nsmc30k.test.tsv.gz";
  options.label_column = "label";
  options.text_column = "document";
  options.max_length = 512;
  prepare(options);
  EXPECT_EQ(task_->facts().classes.size(), 2u);
  EXPECT_EQ(task_->facts().train.examples, 25000);
  EXPECT_EQ(task_->facts().valid.examples, 5000);
  walk(task_->train_stream(), task_->facts().train);
}

TEST_F(SharedData, Digits) {
  TaskOptions options{.kind = TaskKind::image_classification};
  options.train.table = kData + "digits/digits8x8.csv.gz";
  options.label_column = "label";
  options.image_height = options.image_width = 8;
  prepare(options);
  EXPECT_EQ(task_->facts().classes.size(), 10u);
  EXPECT_EQ(task_->facts().train.examples, 1617);
  EXPECT_EQ(task_->facts().valid.examples, 180);
  walk(task_->train_stream(), task_->facts().train);
}

}  // namespace
}  // namespace weft::data
