// Continuing a text, a token at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/decode/sample.h"
#include "driver/decode/search.h"

namespace weft::decode {

struct GenerateOptions {
  SampleOptions sample;
  int64_t max_tokens = 200;
  int64_t min_tokens = 0;          // before an end token counts
  std::vector<std::string> stops;  // texts behind which it ends
  int64_t beam = 0;                // 0: sampling; else the likeliest continuation by beam search
  double length_penalty = 1;
};
Status check(const GenerateOptions& options);

struct Generated {
  std::string text;  // without the prompt
  Ids tokens;
  int64_t prompt_tokens = 0;
  std::vector<std::string> warnings;  // about the prompt
  std::string reason;                 // why it ended: "max-tokens", "end", "stop"
};

// Called with each piece of text as it comes; what it fails with ends the generation.
using OnText = std::function<Status(std::string_view piece)>;

// A text longer than the model's context goes on with its last half. The same options and prompt
// give the same text.
Result<Generated> generate(DecodeModel& model, const std::string& prompt,
                           const GenerateOptions& options, const OnText& on_text = {});

// Several prompts of any lengths, at once; each gives what it gives alone, but for the last digits
// of products. All are read as far as the shortest goes; what longer ones have beyond is read while
// the others go on already. Beam search takes one after the other.
Result<std::vector<Generated>> generate_all(DecodeModel& model,
                                            const std::vector<std::string>& prompts,
                                            const GenerateOptions& options,
                                            const OnText& on_text = {});

}  // namespace weft::decode
