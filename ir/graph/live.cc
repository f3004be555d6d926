// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/live.h"

namespace weft {

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  for (const Output& output : graph.outputs) live[output.value.node] = true;
  for (const Update& update : graph.updates) live[update.value.node] = true;
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (Value operand : graph.nodes()[i].operands) live[operand.node] = true;
  }
  return live;
}

}  // namespace weft
