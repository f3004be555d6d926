// The oracle: a plain interpreter of Graph IR. Slow, obvious, trusted.
//
// Floats are computed in double and not rounded to their type; only `cast` rounds. Integers wrap.
// Everything else in Weft is tested against it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// Runs a graph. `storage` holds every parameter and state that the graph reads.
Result<OracleResult> run_oracle(const Module& module, const Graph& graph, const TensorMap& inputs,
                                const TensorMap& storage, const DimBinding& given = {});

// The initial value of a parameter or state: a function of its name, type, Init and the seed.
// `live` bytes are taken by other tensors already.
Result<Tensor> initial_value(const Storage& storage, uint64_t seed, const DimBinding& dims = {},
                             int64_t live = 0);
// Those of all storage that `graph` reads (all, if null).
Result<TensorMap> initial_values(const Module& module, const Graph* graph, uint64_t seed,
                                 const DimBinding& dims = {});

}  // namespace weft
