// Which products of a matmul region share a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "passes/lower_trace.h"

namespace weft::lowering {

// Matmuls whose sum is one accumulator.
struct MatmulChain {
  std::vector<uint32_t> matmuls;  // nodes of the body
  Value sum;
};

// One program: accumulators of one shape and the results made of them.
struct MatmulJob {
  std::vector<MatmulChain> chains;
  std::vector<uint32_t> results;
};

// One job if all accumulators have one shape, else one for each set of chains that results join.
std::vector<MatmulJob> find_matmul_jobs(const Region& region);

}  // namespace weft::lowering
