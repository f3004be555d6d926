// What a region may hold: one predicate per kind, to make regions and to say why two are apart.
// apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/module.h"

namespace weft {

// A set of nodes of a graph that might become one region. Operands from outside are its inputs.
struct Part {
  const Graph* graph = nullptr;
  std::vector<uint32_t> nodes;  // ascending
  std::set<Value> results;      // of the nodes, wanted outside

  bool holds(uint32_t node) const;
};

struct RegionForm {
  std::string kind;     // of the op `region`
  Shape space;          // what it iterates over: the results' shape, or what is reduced
  size_t row_axes = 0;  // kind rows: how many of the last axes of `space` make a row
};

// Why not: a few words that end the sentence "not joined: ..".
using Refusal = std::string;
using FormOrRefusal = std::variant<RegionForm, Refusal>;

// Which kind of region the nodes make, all of them together:
//   map      pointwise nodes; all results have one shape
//   rows     also reductions over the last axes, whose results may be used again in the same row,
//   and
//            over the axes before them, whose results may only leave
//   matmul   products with what is done to their operands and results, sums of columns among it
//   attention  one op, with views of its results
//   scatter, scan, top_k   pointwise nodes that feed one such op
FormOrRefusal region_form(const Part& part, const DimFacts& facts);

// Where the region would compute something costly again for every use of it.
std::optional<Refusal> repeated_work(const Part& part, const RegionForm& form,
                                     const DimFacts& facts);

// The value at a coordinate is an expression of the operands at coordinates computed from it.
bool is_pointwise(const Node& node);
bool is_reduction(const Node& node);  // a primitive one
bool is_plain(const Node& node);      // elementwise and primitive
bool is_costly(const Node& node);     // many instructions an element
bool is_sink(const Node& node);       // ends a region: scatters, scan, top_k
std::vector<int64_t> reduced_axes(const Node& node);
// Moves no element to another coordinate but for axes of size 1.
bool keeps_coordinates(const Graph& graph, const Node& node, const DimFacts& facts);

// The kinds, one file each.
FormOrRefusal rows_form(const Part& part, const DimFacts& facts);    // regions_rows.cc
FormOrRefusal matmul_form(const Part& part, const DimFacts& facts);  // regions_matmul.cc

}  // namespace weft
