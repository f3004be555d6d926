// For each row of a decoder, the likeliest tokens that may follow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "driver/decode/candidates.h"
#include "driver/decode/decoder.h"

namespace weft::decode {

// What a row is asked for. Nothing is looked for where there is no hypothesis.
struct RowRequest {
  bool alive = false;
  bool may_end = true;
  bool must_end = false;           // the end is the only candidate
  std::span<const int32_t> words;  // what the row holds, where sequences must not repeat
};

struct ProposalOptions {
  size_t count = 1;          // of a row
  bool has_specials = true;  // begin and padding follow nothing
  int64_t no_repeat = 0;     // no sequence of so many tokens twice; 0: any
};

// Rows are searched at once by the threads of the device: the logits of a step are megabytes.
class Proposals {
 public:
  Proposals(Decoder& decoder, ProposalOptions options) : decoder_(decoder), options_(options) {}

  void find(std::span<const RowRequest> rows);
  // With logits, the likeliest first.
  const std::vector<Candidate>& of(size_t row) const { return found_[row].candidates; }

 private:
  struct Found {
    std::vector<Candidate> candidates;
    std::vector<int32_t> banned;
  };
  void find_row(const RowRequest& request, int64_t row);

  Decoder& decoder_;
  const ProposalOptions options_;
  std::vector<Found> found_;  // memory is used again
};

}  // namespace weft::decode
