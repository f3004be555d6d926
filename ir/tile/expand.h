// Splits `accumulate` into partial results and a second program that combines them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/tile/program.h"

namespace weft::tile {

// A buffer between the two programs: one partial result per program of the grid.
struct Partial {
  BufferId result = 0;      // what is accumulated: a buffer of the program as it was
  BufferId main = 0;        // of the first program: has the place of `result`
  BufferId finish_in = 0;   // of the second program
  BufferId finish_out = 0;  // of the second program: stands for `result`
  std::string name;         // "dg.partial"
  DType dtype = DType::f32;
  Dim elements;
};

struct Expanded {
  // One program, or two if there is something to combine. Buffers of the first are those of the
  // program as it was, in the same order, with partials in the place of accumulated ones.
  std::vector<Program> programs;
  std::vector<Partial> partials;
};

// Partials are combined in ascending order. Depends on the values of knobs, which fix how many
// there are. 16-bit floats have f32 partials.
Expanded expand_accumulate(const Program& program);

}  // namespace weft::tile
