// Splits `accumulate` into partial results and further programs that combine them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/tile/program.h"

namespace weft::tile {

// A buffer between two programs: one partial result per program of the grid.
struct Partial {
  BufferId result = 0;      // what is accumulated: a buffer of the program as it was
  BufferId main = 0;        // of the first program: has the place of `result`
  size_t program = 0;       // that combines it
  BufferId finish_in = 0;   // of that program
  BufferId finish_out = 0;  // of that program: stands for `result`
  std::string name;         // "dg.partial"
  DType dtype = DType::f32;
  Dim elements;
};

struct Expanded {
  // One program, and one more for each shape of results to combine: in one program they would have
  // to compare numbers of elements, which 32 bits need not hold. Buffers of the first are those of
  // the program as it was, in the same order, with partials in the place of accumulated ones.
  std::vector<Program> programs;
  std::vector<Partial> partials;
};

// Partials are combined in ascending order. Depends on the values of knobs, which fix how many
// there are. 16-bit floats have f32 partials.
Expanded expand_accumulate(const Program& program);

}  // namespace weft::tile
