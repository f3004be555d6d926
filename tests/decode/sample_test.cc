// Sampling: frequencies, limits, seeds.
// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace weft::decode {
namespace {

const std::vector<float> kLogits = {0.5F, -1.0F, 2.0F, 0.0F, 1.5F, -0.5F};

std::map<int32_t, int> frequencies(const SampleOptions& options, int draws) {
  Sampler sampler(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) {
    ++counts[sampler.next(kLogits, {}, {}, static_cast<uint64_t>(i)).value()];
  }
  return counts;
}

// Of tokens that remain, by the temperature.
std::map<int32_t, double> probabilities(double temperature, const std::vector<int32_t>& tokens) {
  std::map<int32_t, double> result;
  double sum = 0;
  for (int32_t token : tokens) {
    result[token] = std::exp(kLogits[static_cast<size_t>(token)] / temperature);
    sum += result[token];
  }
  for (auto& [token, value] : result) value /= sum;
  return result;
}

double chi_square(const std::map<int32_t, int>& counts, const std::map<int32_t, double>& expected,
                  int draws) {
  double sum = 0;
  for (const auto& [token, probability] : expected) {
    auto found = counts.find(token);
    const double difference = (found == counts.end() ? 0 : found->second) - probability * draws;
    sum += difference * difference / (probability * draws);
  }
  return sum;
}

TEST(Sample, FrequenciesAreTheProbabilities) {
  constexpr int kDraws = 20000;
  // Limits that chance exceeds once in a thousand, for 5, 2 and 1 degrees of freedom.
  EXPECT_LT(
      chi_square(frequencies({.seed = 11}, kDraws), probabilities(1, {0, 1, 2, 3, 4, 5}), kDraws),
      20.52);
  EXPECT_LT(chi_square(frequencies({.temperature = 0.5, .seed = 12}, kDraws),
                       probabilities(0.5, {0, 1, 2, 3, 4, 5}), kDraws),
            20.52);
  const auto top_k = frequencies({.top_k = 3, .seed = 13}, kDraws);
  EXPECT_EQ(top_k.size(), 3U);
  EXPECT_LT(chi_square(top_k, probabilities(1, {2, 4, 0}), kDraws), 13.82);
  // 2 and 4 together have 0.72 of the probability, 2 alone 0.45.
  const auto top_p = frequencies({.top_p = 0.6, .seed = 14}, kDraws);
  EXPECT_EQ(top_p.size(), 2U);
  EXPECT_LT(chi_square(top_p, probabilities(1, {2, 4}), kDraws), 10.83);
}

TEST(Sample, LimitsAreGreedy) {
  for (const SampleOptions& options :
       {SampleOptions{.temperature = 0}, SampleOptions{.temperature = 1e-6},
        SampleOptions{.temperature = 100, .top_k = 1}, SampleOptions{.top_p = 1e-9}}) {
    EXPECT_EQ(frequencies(options, 100), (std::map<int32_t, int>{{2, 100}}));
  }
}

TEST(Sample, TheSameSeedDrawsTheSame) {
  auto draw = [](uint64_t seed) {
    Sampler sampler(SampleOptions{.seed = seed});
    std::vector<int32_t> tokens;
    for (uint64_t i = 0; i < 50; ++i) tokens.push_back(sampler.next(kLogits, {}, {}, i).value());
    return tokens;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sample, LeavesOutWhatItShould) {
  const std::vector<int32_t> banned = {2, 4};
  Sampler greedy(SampleOptions{.temperature = 0});
  EXPECT_EQ(greedy.next(kLogits, {}, banned, 0).value(), 0);
  // 2 has followed 5 before.
  Sampler once(SampleOptions{.temperature = 0, .no_repeat = 2});
  const std::vector<int32_t> tokens = {5, 2, 5};
  EXPECT_EQ(once.next(kLogits, tokens, {}, 0).value(), 4);
  Sampler penalised(SampleOptions{.temperature = 0, .repetition_penalty = 4});
  EXPECT_EQ(penalised.next(kLogits, tokens, {}, 0).value(), 4);
  const std::vector<int32_t> all = {0, 1, 2, 3, 4, 5};
  EXPECT_FALSE(greedy.next(kLogits, {}, all, 0).ok());
  EXPECT_FALSE(check(SampleOptions{.temperature = -1}).ok());
  EXPECT_FALSE(check(SampleOptions{.top_p = 0}).ok());
}

TEST(Candidates, AreTheLargestInOrder) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 7919) % 1009);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  logits[500] = logits[900] = 5000;
  std::vector<Candidate> top;
  const std::vector<int32_t> banned = {0};
  top_candidates(logits, 4, banned, top);
  ASSERT_EQ(top.size(), 4U);
  EXPECT_EQ(top[0].token, 500);
  EXPECT_EQ(top[1].token, 900);
  EXPECT_GE(top[2].logit, top[3].logit);
  for (size_t i = 1; i < logits.size(); ++i) {
    const bool in = std::any_of(top.begin(), top.end(), [&](const Candidate& c) {
      return c.token == static_cast<int32_t>(i);
    });
    if (!in && i != 3) {
      EXPECT_LE(logits[i], top[3].logit);
    }
  }
  top_candidates(logits, 2000, {}, top);
  EXPECT_EQ(top.size(), 999U);
}

}  // namespace
}  // namespace weft::decode
