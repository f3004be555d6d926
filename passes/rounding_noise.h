// How far rounding alone may move the results of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/oracle/compare.h"

namespace weft {

// A run on the oracle, to be repeated on other numbers.
struct OracleRun {
  const Module& module;
  const Graph& graph;
  const TensorMap& inputs;
  const TensorMap& storage;
  const DimBinding& dims;
};

// The first difference that is none of rounding's. A result that is further off than the tolerance
// table allows for one op is held against what the oracle's own results move by when every number
// is off by one rounding, up or down: by up to kNoiseMargin times that a tensor's numbers may
// differ, and an integer only if it moved. So a sum that cancels out (the gradient of a key's bias,
// which is 0) may come out as any rounding.
Result<std::optional<Difference>> compare_but_for_rounding(const OracleRun& run,
                                                           const OracleResult& expected,
                                                           const OracleResult& actual, RunBy by);

}  // namespace weft
