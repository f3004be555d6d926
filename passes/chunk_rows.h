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

// Questions about shapes, given the rows of a product.
class RowShapes {
 public:
  RowShapes(const Shape& rows, const DimFacts& facts)
      : rows_(rows), row_count_(element_count(rows)), facts_(facts) {}

  // The first axes of `shape` are the rows.
  bool has_rows(const Shape& shape) const;
  bool has_merged_rows(const Shape& shape) const;
  bool has_rows(const Shape& shape, RowPlace place) const {
    return place == RowPlace::leading ? has_rows(shape) : has_merged_rows(shape);
  }
  // Some axis may be rows, alone or merged: not the same for all of them.
  bool mentions_rows(const Shape& shape) const;
  // Where an operand from outside has the rows, for a user whose result has `rank` axes with the
  // rows first; nothing if only on some of them.
  std::optional<RowPlace> outside_place(const Shape& shape, size_t rank) const;
  // How many first axes are rows.
  size_t row_axes(RowPlace place) const {
    return place == RowPlace::leading ? rows_.size() : place == RowPlace::merged ? 1 : 0;
  }
  bool one_axis(RowPlace place) const { return row_axes(place) == 1; }

 private:
  const Shape rows_;
  const Dim row_count_;
  const DimFacts& facts_;
};

// What of a graph is computed row by row from a product; inputs and results are left open.
RowPart follow_rows(const Graph& graph, Value product, const DimFacts& facts);
// Adds what is cheap to make inside, and finds inputs and results. Says what is wrong with it, if
// anything.
std::optional<std::string> close_part(const Graph& graph, const DimFacts& facts, RowPart& part);

// The largest such part, or why there is none.
std::variant<RowPart, std::string> find_row_part(const Graph& graph, Value product,
                                                 const DimFacts& facts);

}  // namespace weft
