// Sampling: the next token drawn from what the model finds likely.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "driver/decode/candidates.h"
#include "ir/support/result.h"

namespace weft::decode {

struct SampleOptions {
  double temperature = 1;  // 0: always the likeliest
  int64_t top_k = 0;       // only the k likeliest; 0: all
  double top_p = 1;        // only the likeliest that together have this probability
  double repetition_penalty =
      1;                  // logits of tokens that occurred are divided (below 0: multiplied)
  int64_t no_repeat = 0;  // no sequence of so many tokens twice; 0: any
  uint64_t seed = 1;
};
Status check(const SampleOptions& options);

class Sampler {
 public:
  explicit Sampler(const SampleOptions& options) : options_(options) {}

  // A token that may follow `tokens`, of those that are not banned. A function of the options,
  // what is given, and `number`, which tells draws apart. Fails if nothing is left to choose from.
  Result<int32_t> next(std::span<const float> logits, std::span<const int32_t> tokens,
                       std::span<const int32_t> banned, uint64_t number);

 private:
  void penalise(std::span<const int32_t> tokens);
  Result<int32_t> draw(uint64_t number) const;

  SampleOptions options_;
  std::vector<float> logits_;
  std::vector<int32_t> banned_;
  std::vector<Candidate> candidates_;
};

}  // namespace weft::decode
