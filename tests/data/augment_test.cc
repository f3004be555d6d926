// What is changed at random about training examples: images, words.
// SPDX-License-Identifier: Apache-2.0
#include "driver/data/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "driver/data/task.h"
#include "tests/support/scratch.h"

namespace weft::data {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<float> changed(const std::vector<float>& image, ImageShape shape, const Augment& how,
                           int64_t epoch = 0) {
  std::vector<float> out(image.size(), -1);
  augment_image(image, shape, how, Random(7, epoch, 1), out);
  return out;
}

TEST(Augment, IsReadAndWritten) {
  for (const char* text :
       {"none", "shift=1", "shift=2,rotate=10,scale=0.1,shear=0.25", "elastic=0.1"}) {
    Result<Augment> read = parse_augment(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(to_text(*read), text);
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"shft=1", "there is no 'shft'"},    {"shift", "does not say how much"},
      {"shift=one", "how much"},           {"shift=1.5", "whole pixels"},
      {"scale=1", "scale is 1, expected"}, {"rotate=-3", "rotate is -3, expected"},
      {"rotate=nan", "rotate is nan"},     {"", "there is no ''"},
      {"shift=1,", "there is no ''"},
  };
  for (auto [text, expected] : wrong) {
    Result<Augment> read = parse_augment(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(render(read.diagnostics()), HasSubstr(expected)) << text;
  }
}

TEST(Augment, ShiftsByWholePixels) {
  const ImageShape shape{3, 4, 2};
  std::vector<float> image(24);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const std::vector<float> out = changed(image, shape, {.shift = 1}, epoch);
    // What is in the middle tells the shift; the rest follows from it.
    const auto from = static_cast<int64_t>(out[(1 * 4 + 1) * 2]) - 1;
    const int64_t dy = from / 8 - 1;
    const int64_t dx = from % 8 / 2 - 1;
    seen.insert({dy, dx});
    for (int64_t y = 0; y < 3; ++y) {
      for (int64_t x = 0; x < 4; ++x) {
        const bool inside = y + dy >= 0 && y + dy < 3 && x + dx >= 0 && x + dx < 4;
        const int64_t source = ((y + dy) * 4 + x + dx) * 2 + 1;
        EXPECT_EQ(out[static_cast<size_t>((y * 4 + x) * 2 + 1)],
                  inside ? image[static_cast<size_t>(source)] : 0);
      }
    }
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(Augment, TurnsAboutTheMiddle) {
  std::vector<float> image(25, 0);
  image[2 * 5 + 2] = 8;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<float> out =
        changed(image, {5, 5, 1}, {.rotate = 180, .scale = 0.5, .shear = 0.5}, epoch);
    EXPECT_NEAR(out[2 * 5 + 2], 8, 1e-5);
    EXPECT_THAT(out, Each(testing::Ge(-1e-6F)));
    EXPECT_THAT(out, Each(testing::Le(8 + 1e-5F)));
  }
  const std::vector<float> flat(12, 3);
  EXPECT_THAT(changed(flat, {3, 4, 1}, {}), ElementsAreArray(flat));
}

TEST(Augment, BendsByNoMoreThanItsShareOfTheSize) {
  // Rows are alike, so that only moves along them are seen.
  const ImageShape shape{3, 21, 1};
  std::vector<float> ramp(63);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i % 21);
  std::set<float> seen;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const std::vector<float> whole = changed(ramp, shape, {.elastic = 0.1}, epoch);
    const std::span<const float> out = std::span(whole).subspan(21, 21);
    for (size_t i = 3; i < 18; ++i) EXPECT_NEAR(out[i], ramp[i], 2.1 + 1e-5) << i;
    // Between points of the grid, which are at 0, 10 and 20, the moves lie on a straight line.
    EXPECT_NEAR(out[4] + out[8], 2 * out[6], 1e-4);
    seen.insert(out[10]);
  }
  EXPECT_EQ(seen.size(), 50u);
}

std::string folder_for(const std::string& name) {
  std::string folder = scratch(name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

template <class T>
std::vector<T> first_input(BatchStream& stream, const std::string& name) {
  Result<const Batch*> batch = stream.next();
  EXPECT_TRUE(batch.ok() && *batch != nullptr);
  const BatchInput& input = (*batch)->inputs.at(name);
  std::vector<T> out(input.bytes.size() / sizeof(T));
  std::memcpy(out.data(), input.bytes.data(), input.bytes.size());
  return out;
}

// Training differs from epoch to epoch and is the same after a seek; validation is as in the file.
template <class T>
void expect_changes_in_training_only(const TaskOptions& options, const std::string& input) {
  auto task = prepare_task(options, folder_for("changes"));
  ASSERT_TRUE(task.ok()) << render(task.diagnostics());
  auto train = (*task)->train_stream();
  auto valid = (*task)->valid_stream();
  ASSERT_TRUE(train.ok() && valid.ok());
  const std::vector<T> plain = first_input<T>(**valid, input);
  const std::vector<T> one = first_input<T>(**train, input);
  ASSERT_TRUE((*train)->seek({1, 0}).ok());
  const std::vector<T> two = first_input<T>(**train, input);
  EXPECT_NE(one, plain);
  EXPECT_NE(one, two);
  ASSERT_TRUE((*train)->seek({0, 0}).ok());
  EXPECT_EQ(first_input<T>(**train, input), one);
}

TEST(Changes, OfImagesAreAFunctionOfTheSeed) {
  TaskOptions options{.kind = TaskKind::image_classification};
  std::string text = "label";
  for (int i = 0; i < 16; ++i) text += ",p" + std::to_string(i);
  for (const char* label : {"\na", "\nb"}) {
    text += label;
    for (int i = 0; i < 16; ++i) text += "," + std::to_string(i);
  }
  options.train.table = options.valid.table = write_scratch("changes.csv", text + "\n");
  options.label_column = "label";
  options.image_height = 2;
  options.image_width = 8;
  options.augment = {.shift = 1, .rotate = 20};
  expect_changes_in_training_only<float>(options, "image");
}

TEST(Changes, OfWordsAreAFunctionOfTheSeed) {
  TaskOptions options{.kind = TaskKind::text_classification};
  const std::string long_text(400, 'a');
  options.train.table = options.valid.table =
      write_scratch("words.csv", "text,label\n" + long_text + ",1\nb,2\n");
  options.label_column = "label";
  options.text_column = "text";
  options.tokenizer = TokenizerKind::characters;
  options.word_dropout = 0.25;
  options.batch = 1;
  options.seed = 3;
  expect_changes_in_training_only<int32_t>(options, "tokens");
  auto task = prepare_task(options, folder_for("words"));
  auto train = (*task)->train_stream();
  std::vector<int32_t> tokens = first_input<int32_t>(**train, "tokens");
  if (tokens.size() < 400) tokens = first_input<int32_t>(**train, "tokens");
  EXPECT_NEAR(static_cast<double>(std::ranges::count(tokens, kUnknown)), 100, 40);
}

TEST(Changes, FitTheTask) {
  TaskOptions options{.kind = TaskKind::language_model};
  options.train.text = write_scratch("changes.txt", "abc\n");
  auto failure = [&] {
    auto task = prepare_task(options, folder_for("wrong"));
    return task.ok() ? "" : render(task.diagnostics());
  };
  options.word_dropout = 0.1;
  EXPECT_THAT(failure(), HasSubstr("--word-dropout is for texts to classify"));
  options.word_dropout = 1;
  EXPECT_THAT(failure(), HasSubstr("--word-dropout is 1, expected 0 to 1"));
  options.word_dropout = 0;
  options.augment.shift = 1;
  EXPECT_THAT(failure(), HasSubstr("--augment is for images"));
}

}  // namespace
}  // namespace weft::data
