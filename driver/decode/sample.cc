// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/sample.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/oracle/philox.h"

namespace weft::decode {
namespace {

constexpr uint32_t kPurpose = 0x73616d70;  // keeps these numbers apart from others of the seed

// In [0, 1), with 53 bits.
double uniform(uint64_t seed, uint64_t number) {
  const PhiloxCounter words =
      philox({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0, kPurpose},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return std::ldexp(static_cast<double>(bits), -53);
}

}  // namespace

Status check(const SampleOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return error({}, "--temperature is ", options.temperature, ", expected 0 or more");
  }
  if (options.top_k < 0) return error({}, "--top-k is ", options.top_k, ", expected 0 or more");
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return error({}, "--top-p is ", options.top_p, ", expected more than 0 and at most 1");
  }
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty)) {
    return error({}, "--repetition-penalty is ", options.repetition_penalty,
                 ", expected more than 0");
  }
  if (options.no_repeat < 0) return error({}, "--no-repeat is ", options.no_repeat);
  return ok();
}

// Once for each token, however often it occurred (https://arxiv.org/abs/1909.05858).
void Sampler::penalise(std::span<const int32_t> tokens) {
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (int32_t token : std::set<int32_t>(tokens.begin(), tokens.end())) {
    float& logit = logits_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

Result<int32_t> Sampler::next(std::span<const float> logits, std::span<const int32_t> tokens,
                              std::span<const int32_t> banned, uint64_t number) {
  banned_.assign(banned.begin(), banned.end());
  repeating_tokens(tokens, options_.no_repeat, banned_);
  if (options_.repetition_penalty != 1) {
    logits_.assign(logits.begin(), logits.end());
    penalise(tokens);
    logits = logits_;
  }
  const bool greedy = options_.temperature == 0 || options_.top_k == 1;
  size_t count = options_.top_k > 0 ? static_cast<size_t>(options_.top_k) : logits.size();
  if (greedy) count = 1;
  if (count < logits.size()) {
    top_candidates(logits, count, banned_, candidates_);
  } else {
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto token = static_cast<int32_t>(i);
      const bool out = std::ranges::find(banned_, token) != banned_.end();
      if (!out && !std::isnan(logits[i])) candidates_.push_back({token, logits[i]});
    }
  }
  if (candidates_.empty()) return error({}, "no token is left to choose from");
  if (greedy) return candidates_[0].token;
  return draw(number);
}

// A temperature near 0 leaves the likeliest alone: the others' weights become 0.
Result<int32_t> Sampler::draw(uint64_t number) const {
  float most = candidates_[0].logit;
  for (const Candidate& c : candidates_) most = std::max(most, c.logit);
  if (!std::isfinite(most)) return error({}, "the model gives no finite probabilities");
  std::vector<std::pair<double, int32_t>> weights;
  double sum = 0;
  for (const Candidate& c : candidates_) {
    weights.emplace_back(
        std::exp((static_cast<double>(c.logit) - static_cast<double>(most)) / options_.temperature),
        c.token);
    sum += weights.back().first;
  }
  if (options_.top_p < 1) {
    std::ranges::stable_sort(weights, std::ranges::greater(),
                             [](const auto& weight) { return weight.first; });
    double kept = 0;
    size_t count = 0;
    while (count < weights.size() && kept < options_.top_p * sum) kept += weights[count++].first;
    weights.resize(std::max<size_t>(count, 1));
    sum = kept;
  }
  double left = uniform(options_.seed, number) * sum;
  for (const auto& [weight, token] : weights) {
    if (left < weight) return token;
    left -= weight;
  }
  // Rounding: the last that has any weight.
  auto last = std::ranges::find_if(weights.rbegin(), weights.rend(),
                                   [](const auto& weight) { return weight.first > 0; });
  return last->second;
}

}  // namespace weft::decode
