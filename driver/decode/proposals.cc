// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/proposals.h"

namespace weft::decode {

void Proposals::find(std::span<const RowRequest> rows) {
  if (found_.size() < rows.size()) found_.resize(rows.size());
  decoder_.parallel(static_cast<int64_t>(rows.size()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) find_row(rows[static_cast<size_t>(row)], row);
  });
}

void Proposals::find_row(const RowRequest& request, int64_t row) {
  Found& found = found_[static_cast<size_t>(row)];
  found.candidates.clear();
  if (!request.alive) return;
  const std::span<const float> logits = decoder_.logits(row);
  if (request.must_end) {
    found.candidates.push_back({data::kEnd, logits[data::kEnd]});
    return;
  }
  found.banned.clear();
  if (options_.has_specials) found.banned = {data::kPad, data::kBegin};
  if (options_.has_specials && !request.may_end) found.banned.push_back(data::kEnd);
  repeating_tokens(request.words, options_.no_repeat, found.banned);
  top_candidates(logits, options_.count, found.banned, found.candidates);
}

}  // namespace weft::decode
