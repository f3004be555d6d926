// What a Tile program does with its axes: what a layout follows from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "ir/tile/program.h"

namespace weft::simt {

struct Access {
  const tile::Ref* ref = nullptr;
  bool writes = false;
};

struct Facts {
  std::vector<Access> accesses;       // every load and every write
  std::vector<tile::ValueId> dots;    // that are used
  std::set<tile::AxisId> contracted;  // by dots
  std::set<tile::AxisId> reduced;     // by reductions
  std::set<tile::AxisId> carried;     // of values that loops carry
  std::set<tile::AxisId> ordered;     // scatters say their order
  std::set<tile::AxisId> counted;     // the numbers of their programs are used
  std::set<tile::AxisId> produced;    // of the results of dots
  std::set<tile::BufferId> written;
  bool chained = false;  // an axis of one product is summed over by another

  // An axis whose elements have to be in registers all at once.
  bool held(tile::AxisId axis) const;
};

Facts analyse(const tile::Program& program);

// The axis whose neighbours lie side by side in memory; kNone if there is none.
tile::AxisId unit_axis(const tile::Program& program, const tile::Ref& ref);
bool divisible(const Dim& dim, int64_t by);

// Calls fn for each statement at any depth, outer ones first.
void for_each_statement(const tile::Block& block, const std::function<void(const tile::Stmt&)>& fn);

}  // namespace weft::simt
