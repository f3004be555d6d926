// Translating lines: text in, text out, many at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "driver/decode/search.h"

namespace weft::decode {

struct Translation {
  std::string text;
  Hypothesis hypothesis;
};

struct Translated {
  std::vector<Translation> best;      // the best first; one that is empty for an empty line
  std::vector<std::string> source;    // pieces that the model read, the end's included
  std::vector<std::string> warnings;  // what was done to the line
  int64_t source_tokens = 0;          // the end's included
  int64_t target_tokens = 0;          // of the best
  double batch_ms = 0;                // what its batch took; at the first line of each batch
};

// Translates lines, at most `batch` of them at a time: those of similar lengths together.
Result<std::vector<Translated>> translate(DecodeModel& model, const std::vector<std::string>& lines,
                                          const SearchOptions& options, int64_t batch);

}  // namespace weft::decode
