// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::decode {
namespace {

constexpr size_t kBlock = 32;

// Whether one of a block is larger. Without branches, so that it is done in vectors.
bool any_above(const float* block, float limit) {
  int above = 0;
  for (size_t i = 0; i < kBlock; ++i) above |= block[i] > limit ? 1 : 0;
  return above != 0;
}

}  // namespace

void top_candidates(std::span<const float> logits, size_t count, std::span<const int32_t> banned,
                    std::vector<Candidate>& out) {
  out.clear();
  float limit = -std::numeric_limits<float>::infinity();
  bool full = count == 0;
  auto look = [&](size_t i) {
    const float logit = logits[i];
    if (full ? !(logit > limit) : std::isnan(logit)) return;
    const auto token = static_cast<int32_t>(i);
    if (std::ranges::find(banned, token) != banned.end()) return;
    auto place = std::ranges::find_if(out, [&](const Candidate& c) { return c.logit < logit; });
    out.insert(place, {token, logit});
    if (out.size() > count) out.pop_back();
    full = out.size() == count;
    if (full) limit = out.back().logit;
  };
  size_t i = 0;
  if (count == 0) return;
  while (i < logits.size()) {
    const bool whole = full && i + kBlock <= logits.size();
    if (whole && !any_above(logits.data() + i, limit)) {
      i += kBlock;
      continue;
    }
    const size_t end = std::min(logits.size(), i + kBlock);
    for (; i < end; ++i) look(i);
  }
}

void repeating_tokens(std::span<const int32_t> tokens, int64_t size, std::vector<int32_t>& out) {
  if (size <= 0 || static_cast<int64_t>(tokens.size()) < size) return;
  const auto head = static_cast<size_t>(size - 1);
  const std::span<const int32_t> last = tokens.last(head);
  for (size_t i = 0; i + head < tokens.size(); ++i) {
    if (std::ranges::equal(tokens.subspan(i, head), last)) out.push_back(tokens[i + head]);
  }
}

}  // namespace weft::decode
