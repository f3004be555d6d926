// Greedy and beam search, on models with initial values.
// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "driver/decode/sample.h"
#include "tests/decode/small_model.h"

namespace weft::decode {
namespace {

using Found = std::vector<std::vector<Hypothesis>>;

constexpr int64_t kVocab = 24;

std::vector<Ids> some_sources(size_t count) {
  std::vector<Ids> sources;
  for (size_t i = 0; i < count; ++i) {
    sources.push_back(random_ids(static_cast<int64_t>(2 + i * 5 % 7), kVocab, i));
    sources.back().push_back(data::kEnd);
  }
  return sources;
}

Found must_search(DecodeModel& model, const std::vector<Ids>& sources,
                  const SearchOptions& options) {
  Decoder decoder(model);
  Result<Found> found = search(decoder, sources, options);
  EXPECT_TRUE(found.ok()) << render(found.diagnostics());
  return found.ok() ? std::move(found).value() : Found(sources.size());
}

// By hand: the likeliest token, until the end or the limit.
Ids greedy(DecodeModel& model, const Ids& source, int64_t limit) {
  Decoder decoder(model);
  EXPECT_TRUE(decoder.begin({&source, 1}, 1, model.graphs.context).ok());
  Ids tokens;
  int32_t last = data::kBegin;
  while (static_cast<int64_t>(tokens.size()) < limit) {
    EXPECT_TRUE(decoder.step({&last, 1}).ok());
    std::vector<Candidate> top;
    const std::vector<int32_t> banned = {data::kPad, data::kBegin};
    top_candidates(decoder.logits(0), 1, banned, top);
    last = top[0].token;
    if (last == data::kEnd) break;
    tokens.push_back(last);
  }
  return tokens;
}

TEST(Search, ABeamOfOneIsGreedy) {
  std::unique_ptr<DecodeModel> model = must_make(small_translator());
  ASSERT_NE(model, nullptr);
  SearchOptions options;
  options.beam = 1;
  options.max_length = 9;
  const std::vector<Ids> sources = some_sources(6);
  const Found found = must_search(*model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(found[i].at(0).tokens, greedy(*model, sources[i], 9)) << i;
  }
}

TEST(Search, GreedyNeedsNoScoresAndNoOtherBeams) {
  OpenOptions open;
  open.device.threads = 2;
  open.device.seed = 7;
  open.scores = false;
  open.beams = 1;
  auto plain = make_model(small_translator(), open);
  ASSERT_TRUE(plain.ok()) << render(plain.diagnostics());
  EXPECT_EQ((*plain)->graphs.module.find_graph(kDecode)->outputs.size(), 1U);
  std::unique_ptr<DecodeModel> scored = must_make(small_translator());
  ASSERT_NE(scored, nullptr);
  SearchOptions options;
  options.beam = 1;
  options.max_length = 9;
  const std::vector<Ids> sources = some_sources(6);
  const Found found = must_search(**plain, sources, options);
  const Found wanted = must_search(*scored, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(found[i].at(0).tokens, wanted[i].at(0).tokens) << i;
  }
  Decoder decoder(**plain);
  EXPECT_FALSE(decoder.begin(sources, 2, 9).ok());
}

// The end becomes a little likelier than a token that the model likes, so that texts do end.
void like_ends(DecodeModel& model, int32_t token) {
  const Storage& table = *model.graphs.module.find_storage("embedding.weight");
  const auto width = static_cast<size_t>(table.type.shape[1].constant());
  Result<std::span<const std::byte>> old = model.device->storage(table.name);
  std::vector<std::byte> bytes(old->begin(), old->end());
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < width; ++i) {
    values[data::kEnd * width + i] = 1.1F * values[static_cast<size_t>(token) * width + i];
  }
  ASSERT_TRUE(model.device->set_storage(table.name, bytes).ok());
}

TEST(Search, BatchesAndSinglesAgree) {
  std::unique_ptr<DecodeModel> model = must_make(small_translator());
  ASSERT_NE(model, nullptr);
  like_ends(*model, 6);
  for (int64_t beam : {1, 3, 5}) {
    SearchOptions options;
    options.beam = beam;
    options.n_best = std::min<int64_t>(beam, 2);
    options.min_length = 2;
    options.max_length = 8;
    const std::vector<Ids> sources = some_sources(9);
    const Found together = must_search(*model, sources, options);
    size_t ended = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
      const Found alone = must_search(*model, {sources[i]}, options);
      ASSERT_EQ(together[i].size(), alone[0].size());
      for (size_t n = 0; n < alone[0].size(); ++n) {
        EXPECT_EQ(together[i][n].tokens, alone[0][n].tokens) << "beam " << beam << " line " << i;
        EXPECT_NEAR(together[i][n].score, alone[0][n].score, 1e-4);
      }
      ended += together[i][0].ended ? 1 : 0;
    }
    EXPECT_GT(ended, 0U);
  }
}

// The score of a hypothesis is what the whole graph says of its tokens.
TEST(Search, ScoresAreSumsOfLogProbabilities) {
  const train::TrainOptions options = small_translator();
  std::unique_ptr<DecodeModel> model = must_make(options);
  ASSERT_NE(model, nullptr);
  const std::vector<Ids> sources = some_sources(1);
  SearchOptions search;
  search.beam = 4;
  search.n_best = 4;
  search.length_penalty = 0.6;
  search.max_length = 6;
  const Found found = must_search(*model, sources, search);
  ASSERT_EQ(found[0].size(), 4U);
  for (const Hypothesis& hypothesis : found[0]) {
    Ids read = {data::kBegin};
    Ids said = hypothesis.tokens;
    said.push_back(data::kEnd);  // at the limit it is put there
    double score = 0;
    for (int32_t token : said) {
      const std::vector<double> logits = whole_forward(options, sources.data(), read);
      double sum = 0;
      for (double logit : logits) sum += std::exp(logit);
      score += logits[static_cast<size_t>(token)] - std::log(sum);
      read.push_back(token);
    }
    EXPECT_NEAR(hypothesis.score, score, 1e-4);
    EXPECT_NEAR(hypothesis.normalised, score / std::pow(said.size(), 0.6), 1e-4);
  }
  EXPECT_TRUE(std::ranges::is_sorted(found[0], [](const Hypothesis& a, const Hypothesis& b) {
    return a.ended != b.ended ? a.ended : a.normalised > b.normalised;
  }));
}

TEST(Search, KeepsToItsLimits) {
  std::unique_ptr<DecodeModel> model = must_make(small_translator());
  ASSERT_NE(model, nullptr);
  like_ends(*model, 6);
  SearchOptions options;
  options.beam = 3;
  options.min_length = 4;
  options.max_length = 6;
  options.no_repeat = 1;
  for (const std::vector<Hypothesis>& found : must_search(*model, some_sources(5), options)) {
    const Ids& tokens = found.at(0).tokens;
    EXPECT_GE(tokens.size(), 4U);
    EXPECT_LE(tokens.size(), 6U);
    EXPECT_EQ(std::set<int32_t>(tokens.begin(), tokens.end()).size(), tokens.size());
  }
  options.max_length = 3;
  EXPECT_FALSE(check(options).ok());
  EXPECT_FALSE(check(SearchOptions{.beam = 0}).ok());
  EXPECT_FALSE(check(SearchOptions{.beam = 2, .n_best = 3}).ok());
}

TEST(Search, TracesEachStep) {
  std::unique_ptr<DecodeModel> model = must_make(small_translator(), "cpu", true);
  ASSERT_NE(model, nullptr);
  SearchOptions options;
  options.beam = 3;
  options.max_length = 5;
  options.trace = true;
  const std::vector<Ids> sources = some_sources(2);
  const Found found = must_search(*model, sources, options);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Hypothesis& best = found[i].at(0);
    const std::vector<const StepTrace*> steps = steps_of(best);
    ASSERT_EQ(steps.size(), best.tokens.size() + 1);
    double score = 0;
    for (size_t n = 0; n < steps.size(); ++n) {
      score += steps[n]->log_probability;
      EXPECT_EQ(steps[n]->chosen, n < best.tokens.size() ? best.tokens[n] : data::kEnd);
      EXPECT_EQ(steps[n]->top.size(), 5U);
      double sum = 0;
      for (size_t s = 0; s < steps[n]->weights.size(); ++s) {
        sum += steps[n]->weights[s];
        if (s >= sources[i].size()) {
          EXPECT_EQ(steps[n]->weights[s], 0) << "padding";
        }
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_NEAR(score, best.score, 1e-4);
  }
}

TEST(Search, ContinuesAPrompt) {
  std::unique_ptr<DecodeModel> model = must_make(small_language_model());
  ASSERT_NE(model, nullptr);
  SearchOptions options;
  options.beam = 1;
  options.max_length = 6;
  options.has_specials = false;
  const Ids prompt = random_ids(4, 17, 5);
  Decoder decoder(*model);
  Result<std::vector<Hypothesis>> found = search_prompt(decoder, prompt, options);
  ASSERT_TRUE(found.ok()) << render(found.diagnostics());
  ASSERT_TRUE(decoder.begin_prompt(prompt, 1, 1, 12).ok());
  Sampler sampler(SampleOptions{.temperature = 0});
  Ids expected;
  for (int n = 0; n < 6; ++n) {
    expected.push_back(sampler.next(decoder.logits(0), {}, {}, 0).value());
    ASSERT_TRUE(decoder.step({&expected.back(), 1}).ok());
  }
  EXPECT_EQ(found->at(0).tokens, expected);
}

}  // namespace
}  // namespace weft::decode
