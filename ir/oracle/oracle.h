// The oracle: a plain interpreter of Graph IR. Slow, obvious, trusted.
//
// Floats are computed in double and not rounded to their type; only `cast` rounds. Integers wrap.
// Everything else in Weft is tested against it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/oracle/tensor.h"
#include "ir/support/result.h"

namespace weft {

using TensorMap = std::map<std::string, Tensor>;

struct OracleResult {
  TensorMap outputs;
  TensorMap updates;  // new values of parameters and state, by name
};

// Derives the symbols' sizes from the inputs' shapes (and the storage's), checks them against
// declared bounds and asserted equalities. `given` are sizes stated by the user (--dim).
Result<DimBinding> bind_dims(const Module& module, const Graph& graph, const TensorMap& inputs,
                             const TensorMap& storage, const DimBinding& given = {});

// The same as far as some of the tensors, and of them only their types and shapes, can tell: a
// tensor need not have its elements yet.
Result<DimBinding> bind_known_dims(const Module& module, const Graph& graph,
                                   const TensorMap& inputs, const TensorMap& storage,
                                   const DimBinding& given = {});

// Called before each node is computed: that node, how many are done, and how many there are to do.
using OracleProgress = std::function<void(const Node& node, size_t done, size_t total)>;

// Called with each result that is computed, in bodies too, and may change its numbers: to see what
// rounding does to those that follow.
using OracleRounding = std::function<void(const Node& node, Tensor& result)>;

// Runs a graph. `storage` holds every parameter and state that the graph reads.
Result<OracleResult> run_oracle(const Module& module, const Graph& graph, const TensorMap& inputs,
                                const TensorMap& storage, const DimBinding& given = {},
                                const OracleProgress& progress = {},
                                const OracleRounding& rounding = {});

// The initial value of a parameter or state: a function of its name, type, Init and the seed.
// `live` bytes are taken by other tensors already.
Result<Tensor> initial_value(const Storage& storage, uint64_t seed, const DimBinding& dims = {},
                             int64_t live = 0);
// A part of it, for those who fill memory piece by piece: `count` elements from `first` (even) on,
// of the value of `shape`.
Tensor initial_elements(const Storage& storage, const std::vector<int64_t>& shape, uint64_t seed,
                        int64_t first, int64_t count);
// Those of all storage that `graph` reads (all, if null).
Result<TensorMap> initial_values(const Module& module, const Graph* graph, uint64_t seed,
                                 const DimBinding& dims = {});

}  // namespace weft
