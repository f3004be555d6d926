// Attention in a random spelling: scale x mask x softmax x layout x dropout x heads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/graph/module.h"

namespace weft {

struct RandomAttention {
  // One graph, @forward, with inputs q, k, v and what the spelling needs; its outputs are `out` and
  // `loss`, a scalar.
  Module module;
  std::string spelling;  // the choices, in words
};

// The same for the same seed. No row of scores is masked throughout where the spelling would have
// NaN. A mask that is finite and added has no number below `least_added`.
// The loss is a number of type `loss`.
RandomAttention random_attention(uint64_t seed, double least_added = -1e9, DType loss = DType::f64);

}  // namespace weft
