// An interpreter of Tile programs: slow, obvious, for tests of what makes and transforms them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ir/oracle/tensor.h"
#include "ir/tile/program.h"

namespace weft::tile {

// Where a buffer lies: element [i, j, ..] is element offset + i * strides[0] + .. of the tensor.
struct BoundBuffer {
  Tensor* tensor = nullptr;
  int64_t offset = 0;
};

// Runs the programs of the grid one after the other, on one bound buffer per buffer of the program.
// As in the oracle, floats are doubles and only `cast` rounds; a store does not. Fails if an index
// leaves its buffer, or if a program touches an element that another one writes: programs of a grid
// run in any order. The program has been verified.
Status interpret(const Program& program, const DimBinding& dims,
                 std::span<const BoundBuffer> buffers);

// The program with every dim a number.
Result<Program> with_sizes(const Program& program, const DimBinding& dims);

}  // namespace weft::tile
