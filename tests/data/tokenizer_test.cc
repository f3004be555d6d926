// Tokenizers: there and back, fixed ids, the same outcome each time.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/data/make_tokenizer.h"

namespace weft::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Texts final : public TextSource {
 public:
  explicit Texts(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  Result<bool> next(std::string_view& text) override {
    if (at_ == texts_.size()) return false;
    text = texts_[at_++];
    return true;
  }

 private:
  std::vector<std::string> texts_;
  size_t at_ = 0;
};

std::vector<std::string> sentences() {
  const char* who[] = {"the cat", "a dog", "my friend", "나는", "the teacher"};
  const char* does[] = {"sees", "likes", "finds", "hears", "사랑한다"};
  const char* what[] = {"the red house", "a small tree", "the river.", "너를", "new books"};
  std::vector<std::string> all;
  for (const char* a : who) {
    for (const char* b : does) {
      for (const char* c : what) all.push_back(std::string(a) + " " + b + " " + c);
    }
  }
  return all;
}

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  Status status = tokenizer.encode(text, ids);
  EXPECT_TRUE(status.ok()) << render(status.diagnostics());
  return ids;
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Result<std::string> text = tokenizer.decode(ids);
  return text.ok() ? *text : render(text.diagnostics());
}

TokenizerPtr subwords(const SubwordOptions& options) {
  Texts texts(sentences());
  Result<TokenizerPtr> made = make_subwords(texts, options);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : render(made.diagnostics()));
  return made.ok() ? std::move(made).value() : nullptr;
}

TEST(Characters, AreSortedAndCountFromZero) {
  Texts texts({"hello\n", "한"});
  Result<TokenizerPtr> made = make_characters(texts, false);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->vocab(), 6);  // \n e h l o 한
  EXPECT_THAT(ids_of(**made, "hell\n한"), ElementsAre(2, 1, 3, 3, 0, 5));
  EXPECT_EQ(text_of(**made, {2, 1, 3, 3, 0, 5}), "hell\n한");
  std::vector<int32_t> ids;
  Status unknown = (*made)->encode("hex", ids);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(render(unknown.diagnostics()), HasSubstr("'x' (U+0078) is not in the vocabulary"));
  EXPECT_THAT(text_of(**made, {6}), HasSubstr("token 6 is not in the vocabulary of 6"));
}

TEST(Characters, WithSpecialsBeginAtFour) {
  Texts texts({"ba"});
  Result<TokenizerPtr> made = make_characters(texts, true);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->vocab(), 6);
  EXPECT_THAT(ids_of(**made, "abz"), ElementsAre(4, 5, kUnknown));
  EXPECT_EQ(text_of(**made, {kBegin, 4, kUnknown, 5, kEnd, kPad}),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ((*made)->piece(kEnd), "</s>");
}

TEST(Characters, AreReadBack) {
  Texts texts({"\"\\\t한z\n"});
  Result<TokenizerPtr> made = make_characters(texts, true);
  ASSERT_TRUE(made.ok());
  Result<TokenizerPtr> again = read_characters("t", (*made)->serialize());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->serialize(), (*made)->serialize());
  EXPECT_EQ((*again)->vocab(), (*made)->vocab());
  for (const char* bad : {"", "{}", "[1]", "{\"specials\":true,\"characters\":\"ba\"}"}) {
    EXPECT_FALSE(read_characters("t", bad).ok()) << bad;
  }
}

class SubwordsTest : public testing::TestWithParam<TokenizerKind> {
 protected:
  void SetUp() override {
    if (!have_subwords()) GTEST_SKIP() << "built without sentencepiece";
  }
};

TEST_P(SubwordsTest, HaveTheIdsThatModelsExpect) {
  TokenizerPtr t = subwords({.kind = GetParam(), .vocab = 80});
  ASSERT_TRUE(t);
  EXPECT_LE(t->vocab(), 80);
  EXPECT_EQ(t->piece(kPad), "<pad>");
  EXPECT_EQ(t->piece(kUnknown), "<unk>");
  EXPECT_EQ(t->piece(kBegin), "<s>");
  EXPECT_EQ(t->piece(kEnd), "</s>");
  std::vector<int32_t> ids = ids_of(*t, "나는 너를 사랑한다");
  for (int32_t id : ids) EXPECT_GT(id, kEnd);
  ids.insert(ids.begin(), kBegin);
  ids.insert(ids.end(), {kEnd, kPad, kPad});
  EXPECT_EQ(text_of(*t, ids), "나는 너를 사랑한다");
  EXPECT_THAT(text_of(*t, {80}), HasSubstr("token 80 is not in the vocabulary"));
  EXPECT_THAT(text_of(*t, {-1}), HasSubstr("token -1"));
}

TEST_P(SubwordsTest, AreTheSameEachTimeAndReadBack) {
  SubwordOptions options{.kind = GetParam(), .vocab = 80};
  testing::internal::CaptureStderr();
  TokenizerPtr t = subwords(options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_TRUE(t);
  EXPECT_EQ(subwords(options)->serialize(), t->serialize());
  Result<TokenizerPtr> again = read_subwords("t", t->serialize(), GetParam());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->kind(), GetParam());
  EXPECT_EQ(ids_of(**again, "the new friend"), ids_of(*t, "the new friend"));
  EXPECT_FALSE(read_subwords("t", "not a model", GetParam()).ok());
  EXPECT_FALSE(read_subwords("t", "", GetParam()).ok());
}

TEST_P(SubwordsTest, LosslessOnesKeepEveryByte) {
  TokenizerPtr t = subwords({.kind = GetParam(), .vocab = 340, .lossless = true});
  ASSERT_TRUE(t);
  for (const char* text :
       {"the cat", "  two  spaces \n", "\n", "\t tab\n", "ünknöwn 漢字 한국\n", ""}) {
    EXPECT_EQ(text_of(*t, ids_of(*t, text)), text);
  }
}

TEST_P(SubwordsTest, AVocabularyThatDoesNotFitIsToldWithANumber) {
  Texts texts(sentences());
  Result<TokenizerPtr> large =
      make_subwords(texts, {.kind = GetParam(), .vocab = 30000, .exact = true});
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(render(large.diagnostics()), HasSubstr("subwords, not 30000"));
  Texts again(sentences());
  Result<TokenizerPtr> small = make_subwords(again, {.kind = GetParam(), .vocab = 10});
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(render(small.diagnostics()),
              HasSubstr("a vocabulary of 10 subwords cannot be learned"));
  Texts empty({"", "\n"});
  EXPECT_FALSE(make_subwords(empty, {.kind = GetParam(), .vocab = 80}).ok());
}

INSTANTIATE_TEST_SUITE_P(Kinds, SubwordsTest,
                         testing::Values(TokenizerKind::bpe, TokenizerKind::unigram));

}  // namespace
}  // namespace weft::data
