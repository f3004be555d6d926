// Measuring how fast a language model writes: `decode_gpt2` of `weft bench`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/bench/measure.h"

namespace weft {

inline constexpr const char* kDecodeCase = "decode_gpt2";

// GPT-2 small with initial values, greedily: 64 tokens after a prompt of 32, a row alone.
struct DecodeBench {
  int threads = 1;
  std::vector<double> prefill_ms;   // to the first token
  std::vector<double> generate_ms;  // to the last
  double compile_ms = 0;
  double extra_mb = 0;  // caches and the arena
  double weight_bytes = 0;
  int64_t prompt = 0;
  int64_t steps = 0;  // tokens after the first

  double tokens_per_s(double prefill, double generate) const {
    return static_cast<double>(steps) / (generate - prefill) * 1e3;
  }
};

Result<DecodeBench> measure_decode(const BenchRequest& request);

}  // namespace weft
