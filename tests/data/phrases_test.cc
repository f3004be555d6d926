// The corpus of the quickstart: made by examples/make_phrases.py, and ready to train on.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "driver/data/make_tokenizer.h"
#include "driver/data/task.h"
#include "driver/data/text_file.h"
#include "ir/support/file.h"
#include "test_paths.h"
#include "tests/support/scratch.h"

namespace weft::data {
namespace {

using testing::Contains;
using testing::Pair;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string make(const std::string& name) {
  std::string folder = scratch(name);
  std::string command = "python3 " WEFT_SOURCE_DIR "/examples/make_phrases.py " + folder;
  EXPECT_EQ(std::system((command + " > " + scratch("made.txt")).c_str()), 0);
  return folder;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  Result<LineReader> reader = LineReader::open(path);
  EXPECT_TRUE(reader.ok());
  if (!reader.ok()) return lines;
  for (Line line;;) {
    Result<bool> more = reader->next(line);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) return lines;
    lines.emplace_back(line.text);
  }
}

Pairs pairs_of(const std::string& folder, const std::string& part) {
  std::vector<std::string> english = lines_of(folder + "/" + part + ".en");
  std::vector<std::string> korean = lines_of(folder + "/" + part + ".ko");
  EXPECT_EQ(english.size(), korean.size());
  Pairs pairs;
  for (size_t i = 0; i < std::min(english.size(), korean.size()); ++i) {
    pairs.emplace_back(english[i], korean[i]);
  }
  return pairs;
}

TEST(Phrases, SayIt) {
  std::string folder = make("phrases");
  Pairs train = pairs_of(folder, "train");
  EXPECT_GT(train.size(), 5000u);
  EXPECT_THAT(train, Contains(Pair("I love you", "나는 너를 사랑한다")));
}

// Particles, tenses, wishes, negation, irregular stems, what something is.
TEST(Phrases, AreKorean) {
  std::string command =
      "python3 " WEFT_SOURCE_DIR "/examples/make_phrases.py --pairs 1000000 " + scratch("all");
  ASSERT_EQ(std::system((command + " > " + scratch("made.txt")).c_str()), 0);
  Pairs all;
  for (const char* part : {"train", "valid", "test"}) {
    for (auto& pair : pairs_of(scratch("all"), part)) all.push_back(pair);
  }
  const std::pair<const char*, const char*> expected[] = {
      {"The teacher helped me yesterday", "선생님은 어제 나를 도왔다"},
      {"She does not listen to music", "그녀는 음악을 듣지 않는다"},
      {"They listened to a song", "그들은 노래를 들었다"},
      {"I will open the window tomorrow", "나는 내일 창문을 열 것이다"},
      {"He sells a car", "그는 자동차를 판다"},
      {"We want to eat an apple", "우리는 사과를 먹고 싶다"},
      {"The child wants to drink milk", "아이는 우유를 마시고 싶어 한다"},
      {"I am not a student", "나는 학생이 아니다"},
      {"You were a singer", "너는 가수였다"},
      {"The student was a farmer", "학생은 농부였다"},
      {"He has a watch", "그는 시계가 있다"},
      {"The flower was beautiful", "꽃은 아름다웠다"},
      {"The doctor goes to the hospital every day", "의사는 매일 병원에 간다"},
  };
  std::set<std::pair<std::string, std::string>> made(all.begin(), all.end());
  for (const auto& [english, korean] : expected) {
    EXPECT_TRUE(made.count({english, korean})) << english << " -> " << korean;
  }
}

TEST(Phrases, HoldSentencesOut) {
  std::string folder = make("phrases");
  std::set<std::string> seen;
  for (const auto& [english, korean] : pairs_of(folder, "train")) {
    seen.insert({english, korean});
  }
  for (const char* part : {"valid", "test"}) {
    Pairs held_out = pairs_of(folder, part);
    EXPECT_GT(held_out.size(), 200u);
    for (const auto& [english, korean] : held_out) {
      EXPECT_TRUE(seen.insert(english).second) << english;
      EXPECT_TRUE(seen.insert(korean).second) << korean;
    }
  }
}

TEST(Phrases, AreTheSameEachTime) {
  std::string one = make("phrases");
  std::string two = make("again");
  for (const char* name : {"/train.en", "/train.ko", "/test.en", "/valid.ko"}) {
    EXPECT_EQ(*read_file(one + name, 1 << 24), *read_file(two + name, 1 << 24));
  }
}

TEST(Phrases, TrainASubwordModel) {
  if (!have_subwords()) GTEST_SKIP() << "built without sentencepiece";
  std::string folder = make("phrases");
  TaskOptions options{.kind = TaskKind::translation};
  options.train = {.source = folder + "/train.en", .target = folder + "/train.ko"};
  options.valid = {.source = folder + "/valid.en", .target = folder + "/valid.ko"};
  options.vocab = 400;
  std::string run = scratch("phrases-run");
  std::filesystem::remove_all(run);
  std::filesystem::create_directories(run);
  Result<std::unique_ptr<Task>> task = prepare_task(options, run);
  ASSERT_TRUE(task.ok()) << render(task.diagnostics());
  EXPECT_EQ((*task)->facts().train.left_out, 0);
  EXPECT_LE((*task)->facts().longest, 32);
}

}  // namespace
}  // namespace weft::data
