// Runs Tile programs on whole tensors, for tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <random>
#include <string>

#include "ir/oracle/oracle.h"
#include "ir/tile/interpret.h"

namespace weft::tile {

// Verifies the program, prints and reads it back, and runs what was read on contiguous tensors by
// name. `out` buffers begin as NaN (or an odd number), so that what is not written is seen.
// Returns all that the program may have written. Programs with `accumulate` also run expanded.
Result<TensorMap> run_program(const Program& program, const DimBinding& dims,
                              const TensorMap& inputs);

// Reads a kernel that must be right.
Program kernel(const std::string& text);

Tensor random_tensor(std::mt19937_64& random, std::vector<int64_t> shape, double low = -2,
                     double high = 2);
Tensor integers(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> values);

// The oracle's result for the graph of a module in text form, by output name.
TensorMap oracle(const std::string& module, const TensorMap& inputs);

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-9);
void expect_close(const TensorMap& actual, const TensorMap& expected, double tolerance = 1e-9);

}  // namespace weft::tile
