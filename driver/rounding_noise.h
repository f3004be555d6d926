// How far rounding alone may move the results of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/oracle/oracle.h"

namespace weft {

// A run on the oracle, to be repeated on other numbers.
struct OracleRun {
  const Module& module;
  const Graph& graph;
  const TensorMap& inputs;
  const TensorMap& storage;
  const DimBinding& dims;
};

// `got` with the expected number in each place that lies within the noise of its tensor: what the
// oracle's results move by when every number is off by one rounding, up or down, times a margin. So
// a sum that cancels out (the gradient of a key's bias, which is 0) may come out as any rounding.
Result<OracleResult> without_noise(const OracleRun& run, const OracleResult& expected,
                                   OracleResult got);

}  // namespace weft
