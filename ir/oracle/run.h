// Running the nodes of a graph whose inputs are there and whose dims have sizes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "ir/oracle/oracle.h"

namespace weft {

struct RunResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> updates;
};

// `given` has an entry per node: the tensor of an input or parameter, null for all others.
// `live_bytes` are taken by these and by tensors elsewhere. `rounding` may be null, `progress`
// empty.
Result<RunResult> run_graph(const Graph& graph, const std::vector<const Tensor*>& given,
                            const DimBinding& dims, int64_t live_bytes,
                            const OracleRounding* rounding, const OracleProgress& progress = {});

}  // namespace weft
