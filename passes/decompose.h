// Decompositions: a composite op as primitives, so that a backend that knows only primitives is
// complete.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/graph/emit.h"

namespace weft {

struct PassOptions;

// The results of a composite node as values computed by other ops from `operands` (which stand for
// node.operands, in the graph of `b`). May use other composites, never itself.
using DecomposeFn = std::vector<Value> (*)(Emitter& b, const Node& node,
                                           const std::vector<Value>& operands);
DecomposeFn decomposition(Op op);  // null for a primitive

// The weights of an `attention` node before dropout, [.., T, S]: rows that sum up to 1, or to 0
// where nothing is left. `operands` as above.
Value attention_weights(Emitter& b, const Node& node, const std::vector<Value>& operands);

// Replaces every composite by primitives, repeatedly, until none is left; with
// options.fuse_attention but for regions of kind attention.
Result<bool> decompose(Module& module, const PassOptions& options);

}  // namespace weft
