// Pass `fuse-attention`: commits attention to kernels that never store the scores.
// Needs: raise and autodiff went before. Leaves: a region of kind `attention` for each `attention`
// and `attention_grad` that such kernels can run; the others stay, and become primitives in
// `decompose`. Results that are read transposed are stored so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "passes/pass.h"

namespace weft {

// Nothing if not options.fuse_attention.
Result<bool> fuse_attention(Module& module, const PassOptions& options);

// Why an `attention` or `attention_grad` cannot run on these kernels; nothing if it can.
std::optional<std::string> attention_refusal(const Graph& graph, const Node& node);

// The op in a region of kind `attention` as this pass makes them; null for any other node.
const Node* fused_attention(const Node& node);

}  // namespace weft
