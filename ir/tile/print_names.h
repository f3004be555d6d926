// Names in the text form of a Tile program: the printer's share of what the parser reads back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/tile/program.h"

namespace weft::tile {

// "%x" for buffers and for values that a line defines; other values have none.
struct Names {
  std::vector<std::string> buffers;
  std::vector<std::string> values;
};
Names names_of(const Program& program);

}  // namespace weft::tile
