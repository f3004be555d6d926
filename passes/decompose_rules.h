// The decompositions that the op table names: decompose_<op> for each composite.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/decompose.h"

namespace weft {

inline constexpr DecomposeFn decompose_none = nullptr;

#define WEFT_DECOMPOSITION(op)                                    \
  std::vector<Value> decompose_##op(Emitter& b, const Node& node, \
                                    const std::vector<Value>& operands)

// decompose_elementwise.cc
WEFT_DECOMPOSITION(clamp);
WEFT_DECOMPOSITION(sign);
WEFT_DECOMPOSITION(ceil);
WEFT_DECOMPOSITION(sigmoid);
WEFT_DECOMPOSITION(softplus);
WEFT_DECOMPOSITION(relu);
WEFT_DECOMPOSITION(gelu);
WEFT_DECOMPOSITION(silu);
WEFT_DECOMPOSITION(gt);
WEFT_DECOMPOSITION(ge);
WEFT_DECOMPOSITION(logical_xor);
WEFT_DECOMPOSITION(is_finite);
WEFT_DECOMPOSITION(dropout);

// decompose_rows.cc
WEFT_DECOMPOSITION(mean);
WEFT_DECOMPOSITION(global_norm);
WEFT_DECOMPOSITION(softmax);
WEFT_DECOMPOSITION(log_softmax);
WEFT_DECOMPOSITION(logsumexp);
WEFT_DECOMPOSITION(layer_norm);
WEFT_DECOMPOSITION(rms_norm);
WEFT_DECOMPOSITION(cross_entropy);
WEFT_DECOMPOSITION(focal);
WEFT_DECOMPOSITION(mse);

// decompose_attention.cc
WEFT_DECOMPOSITION(attention);
WEFT_DECOMPOSITION(attention_grad);

// decompose_index.cc
WEFT_DECOMPOSITION(one_hot);
WEFT_DECOMPOSITION(causal_mask);
WEFT_DECOMPOSITION(window_mask);
WEFT_DECOMPOSITION(padding_mask);
WEFT_DECOMPOSITION(patches);
WEFT_DECOMPOSITION(fold_patches);

// decompose_optimizer.cc
WEFT_DECOMPOSITION(sgd);
WEFT_DECOMPOSITION(adam);
WEFT_DECOMPOSITION(adamw);

// decompose_region.cc
WEFT_DECOMPOSITION(region);

#undef WEFT_DECOMPOSITION

}  // namespace weft
