// What of a graph can be computed for some rows at a time. Part of `chunk`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "ir/graph/module.h"

namespace weft {

// Where a value has the rows of the product: the product itself is [rows.., columns].
enum class RowPlace : uint8_t {
  none,     // nowhere: the same for all rows
  leading,  // on its first axes, as the product has them
  merged,   // on its first axis, all in one
  last,     // on its last axis, all in one: a transpose that a product reads
  summed,   // added up
};

// A product and what is computed with it, row by row.
struct RowPart {
  Value product;
  Shape rows;                // the product's axes but the last
  Dim row_count;             // their product
  std::set<uint32_t> nodes;  // computed by rows
  std::set<uint32_t>
      clones;  // those of them that do not depend on the product, and stay outside too
  std::map<Value, RowPlace> inputs;   // from outside
  std::map<Value, RowPlace> results;  // wanted outside
  std::map<uint32_t, RowPlace> places;
};

// The largest such part, or why there is none.
std::variant<RowPart, std::string> find_row_part(const Graph& graph, Value product,
                                                 const DimFacts& facts);

}  // namespace weft
