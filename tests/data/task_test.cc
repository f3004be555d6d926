// Tasks: from small files to batches, kept in a run's folder.
// SPDX-License-Identifier: Apache-2.0
#include "driver/data/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "driver/data/make_tokenizer.h"
#include "tests/support/scratch.h"

namespace weft::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string fresh_folder() {
  std::string folder = scratch("run");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<int32_t> ids(const Batch& batch, const std::string& name) {
  const BatchInput& input = batch.inputs.at(name);
  std::vector<int32_t> out(input.bytes.size() / 4);
  std::memcpy(out.data(), input.bytes.data(), input.bytes.size());
  size_t count = 1;
  for (int64_t size : input.shape) count *= static_cast<size_t>(size);
  EXPECT_EQ(out.size(), count);
  return out;
}

// Copies of an epoch's batches.
std::vector<Batch> epoch_of(BatchStream& stream) {
  std::vector<Batch> batches;
  for (;;) {
    Result<const Batch*> batch = stream.next();
    EXPECT_TRUE(batch.ok()) << (batch.ok() ? "" : render(batch.diagnostics()));
    if (!batch.ok() || *batch == nullptr) return batches;
    batches.push_back(**batch);
  }
}

std::unique_ptr<Task> prepared(const TaskOptions& options, const std::string& folder) {
  Result<std::unique_ptr<Task>> task = prepare_task(options, folder);
  EXPECT_TRUE(task.ok()) << (task.ok() ? "" : render(task.diagnostics()));
  return task.ok() ? std::move(task).value() : nullptr;
}

std::string failure(const TaskOptions& options) {
  std::string folder = fresh_folder();
  Result<std::unique_ptr<Task>> task = prepare_task(options, folder);
  EXPECT_FALSE(std::filesystem::exists(folder + "/data.json"));
  return task.ok() ? "" : render(task.diagnostics());
}

TaskOptions translation() {
  TaskOptions options{.kind = TaskKind::translation};
  options.train = {.source = write_scratch("a.src", "ab\nb\n\nabba\naaaaaaaaa\n"),
                   .target = write_scratch("a.tgt", "xy\nyx\nx\nyyy\nx\n")};
  options.valid = {.source = write_scratch("v.src", "ba\n\n"),
                   .target = write_scratch("v.tgt", "zx\nyyyyyyyyyyy\n")};
  options.tokenizer = TokenizerKind::characters;
  options.max_length = 9;
  return options;
}

TEST(Translation, MakesWhatTheModelReads) {
  auto task = prepared(translation(), fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->facts().vocab, 8);  // four specials, a b x y
  EXPECT_EQ(task->facts().longest, 9);
  EXPECT_EQ(task->facts().train.examples, 3);
  EXPECT_EQ(task->facts().train.left_out, 2);  // an empty line; nine letters and the end
  EXPECT_EQ(task->facts().valid.examples, 2);  // nothing is left out of a validation
  EXPECT_EQ(task->facts().valid.cut, 1);
  auto stream = task->valid_stream();
  ASSERT_TRUE(stream.ok());
  std::vector<Batch> batches = epoch_of(**stream);
  ASSERT_EQ(batches.size(), 1u);
  const Batch& batch = batches[0];
  EXPECT_EQ(batch.dims, (DimBinding{{"B", 2}, {"S", 4}, {"T", 9}}));
  EXPECT_THAT(ids(batch, "src"), ElementsAre(5, 4, kEnd, 0, kEnd, 0, 0, 0));
  EXPECT_THAT(ids(batch, "tgt"),
              ElementsAre(kBegin, kUnknown, 6, 0, 0, 0, 0, 0, 0, kBegin, 7, 7, 7, 7, 7, 7, 7, 7));
  EXPECT_THAT(ids(batch, "labels"),
              ElementsAre(kUnknown, 6, kEnd, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, kEnd));
  EXPECT_EQ(batch.examples, 2);
  EXPECT_EQ(batch.source_tokens, 4);
  EXPECT_EQ(batch.target_tokens, 12);
}

TEST(Translation, PaddingOfLabelsIsWhatTheModelIgnores) {
  TaskOptions options = translation();
  options.ignore_label = -100;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  auto stream = task->valid_stream();
  ASSERT_TRUE(stream.ok());
  Result<const Batch*> batch = (*stream)->next();
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(ids(**batch, "labels")[3], -100);
}

TEST(Translation, EveryShapeIsAMultiple) {
  TaskOptions options = translation();
  options.length_multiple = 8;
  options.max_length = 100;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->facts().longest, 16);
  auto stream = task->train_stream();
  ASSERT_TRUE(stream.ok());
  for (const Batch& batch : epoch_of(**stream)) {
    EXPECT_EQ(batch.dims.at("S") % 8, 0);
    EXPECT_EQ(batch.dims.at("T") % 8, 0);
  }
}

TEST(Translation, WithoutValidationFilesTheLastTenthIsHeldOut) {
  std::string source;
  std::string target;
  for (int i = 0; i < 95; ++i) {
    source += "a" + std::string(i % 7, 'b') + "\n";
    target += std::string(i >= 85 ? "y" : "x") + "\n";
  }
  TaskOptions options{.kind = TaskKind::translation};
  options.train = {.source = write_scratch("h.src", source),
                   .target = write_scratch("h.tgt", target)};
  options.tokenizer = TokenizerKind::characters;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->facts().train.examples, 85);
  EXPECT_EQ(task->facts().valid.examples, 10);
  EXPECT_EQ(task->facts().vocab, 4 + 3);  // a b x: y is only in what is held out
}

TEST(Run, IsOpenedWithoutTheFilesItCameFrom) {
  std::string folder = fresh_folder();
  TaskOptions options = translation();
  auto task = prepared(options, folder);
  ASSERT_TRUE(task);
  auto stream = task->train_stream();
  ASSERT_TRUE(stream.ok());
  std::vector<Batch> first = epoch_of(**stream);
  std::vector<Batch> second = epoch_of(**stream);
  EXPECT_EQ(static_cast<int64_t>(first.size()), task->facts().train.batches);
  EXPECT_EQ(second.size(), first.size());
  for (const std::string& path : {options.train.source, options.train.target}) {
    std::filesystem::remove(path);
  }
  Result<std::unique_ptr<Task>> again = open_task(folder);
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  EXPECT_EQ((*again)->options(), task->options());
  EXPECT_EQ((*again)->facts().train, task->facts().train);
  auto reopened = (*again)->train_stream();
  ASSERT_TRUE(reopened.ok());
  ASSERT_TRUE((*reopened)->seek({1, 0}).ok());
  std::vector<Batch> resumed = epoch_of(**reopened);
  ASSERT_EQ(resumed.size(), second.size());
  for (size_t i = 0; i < second.size(); ++i) {
    EXPECT_EQ(ids(resumed[i], "src"), ids(second[i], "src"));
    EXPECT_EQ(ids(resumed[i], "labels"), ids(second[i], "labels"));
  }
  // Preparing with the same options opens; with others it says which.
  EXPECT_TRUE(prepare_task(options, folder).ok());
  options.max_length = 20;
  Result<std::unique_ptr<Task>> other = prepare_task(options, folder);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(render(other.diagnostics()), HasSubstr("max_length is 9, not 20"));
}

TEST(Run, DamagedFilesAreToldByName) {
  std::string folder = fresh_folder();
  ASSERT_TRUE(prepared(translation(), folder));
  write_scratch("run/train.tokens", "damaged");
  Result<std::unique_ptr<Task>> task = open_task(folder);
  ASSERT_TRUE(task.ok());  // who only translates needs no examples
  auto stream = (*task)->train_stream();
  ASSERT_FALSE(stream.ok());
  EXPECT_THAT(render(stream.diagnostics()), HasSubstr("train.tokens: error: is damaged"));
  std::filesystem::copy_file(folder + "/valid.tokens", folder + "/train.tokens",
                             std::filesystem::copy_options::overwrite_existing);
  stream = (*task)->train_stream();
  ASSERT_FALSE(stream.ok());
  EXPECT_THAT(render(stream.diagnostics()), HasSubstr("does not belong to the data.json"));
  write_scratch("run/tokenizer.json", "{}");
  task = open_task(folder);
  ASSERT_FALSE(task.ok());
  EXPECT_THAT(render(task.diagnostics()), HasSubstr("tokenizer.json: error: is damaged"));
  write_scratch("run/data.json", "{\"version\":1}");
  task = open_task(folder);
  ASSERT_FALSE(task.ok());
  EXPECT_THAT(render(task.diagnostics()), HasSubstr("data.json: error: 'options' is missing"));
}

TEST(Run, AFullDiskLeavesNothingHalfWritten) {
  std::string text(20000, 'a');
  for (size_t i = 99; i < text.size(); i += 100) text[i] = '\n';
  TaskOptions options = translation();
  options.max_length = 1000;
  options.train = {.source = write_scratch("f.src", text), .target = write_scratch("f.tgt", text)};
  std::string folder = fresh_folder();
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = {.rlim_cur = 10000, .rlim_max = before.rlim_max};
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Result<std::unique_ptr<Task>> task = prepare_task(options, folder);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(task.ok());
  EXPECT_THAT(render(task.diagnostics()), HasSubstr("train.tokens: error: cannot write"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ElementsAre("tokenizer.json"));
  EXPECT_TRUE(prepare_task(options, folder).ok());  // once there is room
}

TEST(Run, OptionsGoThroughJson) {
  TaskOptions options = translation();
  options.seed = 0xffffffffffffffff;
  options.label_column = "\"quoted\" 한";
  options.exact_vocab = true;
  Result<TaskOptions> again = parse_task_options(to_json(options));
  ASSERT_TRUE(again.ok()) << render(again.diagnostics());
  EXPECT_EQ(*again, options);
  for (const char* bad : {"", "[]", "{\"kind\": 3}", "{\"kind\": \"poetry\"}"}) {
    EXPECT_FALSE(parse_task_options(bad).ok()) << bad;
  }
}

TEST(LanguageModel, TakesWindowsOfTheText) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>('a' + i % 26);
  TaskOptions options{.kind = TaskKind::language_model};
  options.train.text = write_scratch("lm.txt", text);
  options.tokenizer = TokenizerKind::characters;
  options.context = 4;
  options.batch = 2;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_EQ(task->facts().vocab, 26);
  EXPECT_EQ(task->facts().longest, 4);
  auto valid = task->valid_stream();
  ASSERT_TRUE(valid.ok());
  std::vector<Batch> batches = epoch_of(**valid);
  ASSERT_EQ(batches.size(), 1u);  // the last 10 characters: whole windows at 90 and 94
  EXPECT_EQ(batches[0].dims, (DimBinding{{"B", 2}, {"T", 4}}));
  EXPECT_THAT(ids(batches[0], "tokens"), ElementsAre(12, 13, 14, 15, 16, 17, 18, 19));
  EXPECT_THAT(ids(batches[0], "labels"), ElementsAre(13, 14, 15, 16, 17, 18, 19, 20));
  auto train = task->train_stream();
  ASSERT_TRUE(train.ok());
  std::vector<Batch> epoch = epoch_of(**train);
  EXPECT_EQ(epoch.size(), 11u);  // (90 - 1) / 4 windows, two a batch
  std::set<int32_t> begins;
  for (const Batch& batch : epoch) {
    std::vector<int32_t> tokens = ids(batch, "tokens");
    std::vector<int32_t> labels = ids(batch, "labels");
    begins.insert(tokens[0]);
    for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(labels[i], (tokens[i] + 1) % 26);
  }
  EXPECT_GT(begins.size(), 5u);
  Position place{3, 7};
  ASSERT_TRUE((*train)->seek(place).ok());
  std::vector<int32_t> there = ids(**(*train)->next(), "tokens");
  ASSERT_TRUE((*train)->seek({3, 0}).ok());
  epoch = epoch_of(**train);
  EXPECT_EQ(ids(epoch[7], "tokens"), there);
}

TEST(LanguageModel, SubwordsGiveTheTextBack) {
  if (!have_subwords()) GTEST_SKIP() << "built without sentencepiece";
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the cat saw  the dog " + std::to_string(i % 17) + "\n\n";
  TaskOptions options{.kind = TaskKind::language_model};
  options.train.text = write_scratch("lm.txt", text);
  options.tokenizer = TokenizerKind::bpe;
  options.vocab = 320;
  options.context = 8;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  std::string expected = text.substr(text.size() * 9 / 10);
  auto valid = task->valid_stream();
  ASSERT_TRUE(valid.ok());
  std::vector<int32_t> tokens;
  for (const Batch& batch : epoch_of(**valid)) {
    std::vector<int32_t> more = ids(batch, "tokens");
    tokens.insert(tokens.end(), more.begin(), more.end());
  }
  Result<std::string> decoded = task->tokenizer()->decode(tokens);
  ASSERT_TRUE(decoded.ok());
  EXPECT_GT(decoded->size(), expected.size() / 2);
  EXPECT_EQ(*decoded, expected.substr(0, decoded->size()));
}

TaskOptions table(const std::string& text) {
  TaskOptions options{.kind = TaskKind::text_classification};
  options.train.table = write_scratch("t.csv", text);
  options.label_column = "label";
  options.text_column = "text";
  options.tokenizer = TokenizerKind::characters;
  return options;
}

TEST(TextClassification, MakesTokensAndLabels) {
  TaskOptions options = table("text,label\nab,good\n,bad\n\"b,a\",so so\nabababab,bad\n");
  options.valid = options.train;
  options.max_length = 4;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_THAT(task->facts().classes, ElementsAre("bad", "good", "so so"));
  EXPECT_EQ(task->facts().train.cut, 1);
  auto stream = task->valid_stream();
  ASSERT_TRUE(stream.ok());
  std::vector<Batch> batches = epoch_of(**stream);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].dims, (DimBinding{{"B", 4}, {"T", 4}}));
  // , = 4, a = 5, b = 6; an empty text is one unknown token
  EXPECT_THAT(ids(batches[0], "tokens"),
              ElementsAre(5, 6, 0, 0, kUnknown, 0, 0, 0, 6, 4, 5, 0, 5, 6, 5, 6));
  EXPECT_THAT(ids(batches[0], "labels"), ElementsAre(1, 0, 2, 0));
  EXPECT_EQ(batches[0].target_tokens, 4);
  auto other = task->stream_of({.table = write_scratch("o.csv", "label,text\nugly,a\n")});
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(render(other.diagnostics()),
              HasSubstr("o.csv:2:1: error: the label 'ugly' is not one of the 3"));
}

TEST(ImageClassification, ScalesPixels) {
  TaskOptions options{.kind = TaskKind::image_classification};
  options.train.table =
      write_scratch("i.csv", "p0,p1,digit,p2,p3,p4,p5\n0,1,10,2,3,4,5\n5,4,9,3,2,1,0\n");
  options.valid = options.train;
  options.label_column = "digit";
  options.image_height = 2;
  options.image_width = 3;
  auto task = prepared(options, fresh_folder());
  ASSERT_TRUE(task);
  EXPECT_THAT(task->facts().classes, ElementsAre("9", "10"));  // by value
  EXPECT_EQ(task->tokenizer(), nullptr);
  auto stream = task->valid_stream();
  ASSERT_TRUE(stream.ok());
  Result<const Batch*> batch = (*stream)->next();
  ASSERT_TRUE(batch.ok() && *batch != nullptr);
  const BatchInput& image = (*batch)->inputs.at("image");
  EXPECT_EQ(image.dtype, DType::f32);
  EXPECT_THAT(image.shape, ElementsAre(2, 2, 3, 1));
  std::vector<float> pixels(12);
  std::memcpy(pixels.data(), image.bytes.data(), image.bytes.size());
  EXPECT_NEAR(pixels[0], -2.5 / std::sqrt(35.0 / 12), 1e-6);
  EXPECT_NEAR(pixels[2], -0.5 / std::sqrt(35.0 / 12), 1e-6);
  EXPECT_THAT(ids(**batch, "labels"), ElementsAre(1, 0));
}

TEST(Errors, SayWhatIsMissing) {
  EXPECT_THAT(failure({.kind = TaskKind::translation}), HasSubstr("(--src) is missing"));
  TaskOptions options = table("text,label\na,1\n");
  options.label_column = "";
  EXPECT_THAT(failure(options), HasSubstr("(--label-column) is missing"));
  options.label_column = "class";
  EXPECT_THAT(failure(options), HasSubstr("no column 'class': the header has 'text', 'label'"));
  options.label_column = "label";
  options.batch = -3;
  EXPECT_THAT(failure(options), HasSubstr("--batch is -3, expected 0 to 65536"));
}

TEST(Errors, OfFilesNameThem) {
  TaskOptions options = translation();
  options.train.target = write_scratch("a.tgt", "x\ny\n");
  EXPECT_THAT(failure(options), testing::AllOf(HasSubstr("a.src: error: has 5 lines, but "),
                                               HasSubstr("a.tgt has 2")));
  options = translation();
  options.valid.source = scratch("no-such-file");
  EXPECT_THAT(failure(options), HasSubstr("no-such-file: error: no such file"));
  options = translation();
  options.train.source = write_scratch("a.src", "");
  EXPECT_THAT(failure(options), HasSubstr("a.src: error: is empty"));
  options = translation();
  options.max_length = 2;
  options.train.source = write_scratch("a.src", "ab\nab\nab\nab\nab\n");
  EXPECT_THAT(failure(options), HasSubstr("nothing is left to train on: 5 pairs"));
}

TEST(Errors, OfTablesNameTheRow) {
  EXPECT_THAT(failure(table("text,label\na,1\nb,\n")),
              HasSubstr("t.csv:3:1: error: the label is empty"));
  EXPECT_THAT(failure(table("text,label\na,1\nb,1\n")), HasSubstr("the same label in every row"));
  EXPECT_THAT(failure(table("text,label\n")), HasSubstr("t.csv: error: has no rows"));
  TaskOptions image{.kind = TaskKind::image_classification};
  image.train.table = write_scratch("i.csv", "label,p0,p1\n1,2,3\n2,x,3\n");
  image.label_column = "label";
  image.image_height = image.image_width = 2;
  EXPECT_THAT(failure(image), HasSubstr("has 4 numbers, but there are 2 columns beside 'label'"));
  image.image_height = 1;
  EXPECT_THAT(failure(image), HasSubstr("i.csv:3:1: error: 'x' in column 'p0' is not a number"));
}

TEST(Errors, OfTextsSayWhatDoesNotFit) {
  TaskOptions options{.kind = TaskKind::language_model};
  options.train.text = write_scratch("short.txt", "abcdefghij");
  options.tokenizer = TokenizerKind::characters;
  EXPECT_THAT(failure(options), HasSubstr("training text has 9 tokens, a window needs 65"));
  options.context = 3;
  options.valid.text = write_scratch("other.txt", "abc\nabz\n");
  EXPECT_THAT(failure(options), HasSubstr("other.txt:1:1: error: the character U+000A is not in"));
}

}  // namespace
}  // namespace weft::data
