// Part of `raise`: the chain of an attention as what op `attention` can say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "passes/raise_chain.h"
#include "passes/raise_masks.h"

namespace weft {

// A condition on scores, at one level of the chain.
struct FormMask {
  MaskAtom atom;
  size_t level = 0;
};

struct AttentionForm {
  std::vector<ScoreItem> biases;
  std::vector<ScoreItem> factors;
  std::vector<FormMask> masks;    // all have to hold
  std::vector<FormMask> lengths;  // with an atom that has a length
  double fill = kExcluded;        // where one of `masks` does not hold
  MaskAtom::Window window;
};

// Nothing in `reason` if the op can say it without a change of the numbers.
struct FormResult {
  AttentionForm form;
  std::string reason;
};
FormResult attention_form(const Graph& graph, const DimFacts& facts, const AttentionChain& chain);

}  // namespace weft
