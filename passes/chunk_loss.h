// Pass `chunk`: an output projection onto many classes, with its loss and their gradients, computed
// for some rows at a time, so that the logits of a whole batch never exist. Needs: primitives,
// arranged. Leaves: a `chunked` node in place of the product and everything row by row that depends
// on it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "passes/pass.h"

namespace weft {

Result<bool> chunk_loss(Module& module, const PassOptions& options);

// A large product that stays whole.
struct NotChunked {
  Value product;
  std::string reason;  // "%logits leaves the graph"
};
std::vector<NotChunked> explain_chunks(const Module& module, const Graph& graph);

}  // namespace weft
