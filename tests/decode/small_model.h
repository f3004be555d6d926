// Small models with initial values, for tests of decoding.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/decode/decoder.h"

namespace weft::decode {

// A translator of 24 tokens, or a language model of 17; both with a context of 12.
train::TrainOptions small_translator();
train::TrainOptions small_language_model();

std::unique_ptr<DecodeModel> must_make(const train::TrainOptions& options,
                                       const std::string& device = "cpu", bool weights = false);

// Of a graph text with @forward; its logits have `vocab` tokens.
std::unique_ptr<DecodeModel> must_make_of(const Module& module, int64_t vocab,
                                          const std::string& device = "cpu");

// Ids from 4 on, a function of the seed.
Ids random_ids(int64_t length, int64_t vocab, uint64_t seed);

// Logits of the last token by @forward for all positions, on the oracle, with the initial values
// that the model has.
std::vector<double> whole_forward(const train::TrainOptions& options, const Ids* source,
                                  const Ids& target);
std::vector<double> whole_forward(const Module& module, int64_t vocab, const Ids* source,
                                  const Ids& target);

}  // namespace weft::decode
