// A region as what its body does.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/region.h"
#include "passes/decompose_rules.h"

namespace weft {

std::vector<Value> decompose_region(Emitter& b, const Node& node,
                                    const std::vector<Value>& operands) {
  return inline_region(b, node, operands);
}

}  // namespace weft
