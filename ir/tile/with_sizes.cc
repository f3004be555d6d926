// A program with a number for each dim.
// SPDX-License-Identifier: Apache-2.0
#include "ir/tile/interpret.h"

namespace weft::tile {

Result<Program> with_sizes(const Program& program, const DimBinding& dims) {
  Program sized = program;
  std::string fault;  // the first dim without a size
  for_each_dim(sized, [&](Dim& dim) {
    std::optional<int64_t> size = dim.evaluate(dims);
    if (!size && fault.empty()) fault = dim.str();
    dim = size.value_or(0);
  });
  if (fault.empty()) return sized;
  return error(Loc{}, "kernel @", program.name, ": dim ", fault, " has no size")
      .hint("bind every symbol");
}

}  // namespace weft::tile
