// Greedy and beam search: from sources to the likeliest targets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "driver/decode/candidates.h"
#include "driver/decode/decoder.h"

namespace weft::decode {

struct SearchOptions {
  int64_t beam = 4;           // 1 is greedy
  int64_t n_best = 1;         // at most `beam`
  double length_penalty = 1;  // finished hypotheses are compared by score / length^penalty
  int64_t min_length = 0;     // tokens before the end
  int64_t max_length = 0;     // 0: twice the source and 10
  int64_t no_repeat = 0;      // no sequence of so many tokens twice; 0: any
  bool trace = false;         // keep what every step chose from
  bool has_specials = true;   // the tokens of tokenizer.h; otherwise nothing ends by itself
};

// Sizes and limits that make no search are told.
Status check(const SearchOptions& options);

// What a step of a hypothesis chose from.
struct StepTrace {
  std::shared_ptr<const StepTrace> earlier;  // shared by hypotheses that begin alike
  std::vector<Candidate> top;                // five, with log-probabilities
  int32_t chosen = 0;
  float log_probability = 0;
  std::vector<float> weights;  // of source positions
};

struct Hypothesis {
  Ids tokens;                              // without begin and end
  double score = 0;                        // sum of log-probabilities, the end's included
  double normalised = 0;                   // score / length^penalty
  bool ended = false;                      // by itself; otherwise it was cut at the limit
  double least_gap = 0;                    // between scores that its sentence's steps compared
  std::shared_ptr<const StepTrace> trace;  // of the last step
};

// Steps of a hypothesis from the first to the last.
std::vector<const StepTrace*> steps_of(const Hypothesis& hypothesis);

// For each source (ids with their end; not empty) its best hypotheses, the best first.
Result<std::vector<std::vector<Hypothesis>>> search(Decoder& decoder, std::span<const Ids> sources,
                                                    const SearchOptions& options);
// The best continuations of a prompt, which is not empty.
Result<std::vector<Hypothesis>> search_prompt(Decoder& decoder, const Ids& prompt,
                                              const SearchOptions& options);

}  // namespace weft::decode
