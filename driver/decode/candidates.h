// Which tokens may come next, and how likely each is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::decode {

struct Candidate {
  int32_t token = 0;
  float logit = 0;
};

// The `count` largest, largest first; of equal ones the first. Those in `banned` and NaN are left
// out.
void top_candidates(std::span<const float> logits, size_t count, std::span<const int32_t> banned,
                    std::vector<Candidate>& out);

// Tokens that would repeat one of the sequences of `size` tokens that `tokens` holds; none for 0.
void repeating_tokens(std::span<const int32_t> tokens, int64_t size, std::vector<int32_t>& out);

}  // namespace weft::decode
