// Lowering of each kind of region, and what they share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/lower_trace.h"

namespace weft::lowering {

struct TracedRegion {
  std::vector<Traced> programs;  // in order
  std::optional<uint32_t> copy_program;
};

TracedRegion lower_map(const Region& region, const std::string& name);
TracedRegion lower_rows(const Region& region, const std::string& name);
TracedRegion lower_matmul(const Region& region, const std::string& name);
TracedRegion lower_scatter(const Region& region, const std::string& name);
TracedRegion lower_scan(const Region& region, const std::string& name);
TracedRegion lower_top_k(const Region& region, const std::string& name);
// Its programs are not traced from a body (lower_attention_region.cc).
LoweredRegion lower_attention_region(const Region& region);

// ---- axes

// A knob, limited to the size of the dim if that is known.
tile::Extent knob_for(Tracer& t, const std::string& name, int64_t value, const Dim& dim,
                      tile::Knob::Kind kind = tile::Knob::free);
// An axis for each group, called `name`, or `name` and a number if there are several. All but the
// last are scalar coordinates.
std::vector<AxisId> add_axes(Tracer& t, const std::vector<Space::Group>& groups,
                             const std::string& name, tile::Extent last);
// The same, all taken whole.
std::vector<AxisId> add_whole_axes(Tracer& t, const std::vector<Space::Group>& groups,
                                   const std::string& name);
AxisId add_axis(Tracer& t, const Space::Group& group, const std::string& name, tile::Extent extent,
                std::optional<tile::Extent> inner = {});
// Axes for all rows, in the grid, in tiles of a few thousand elements.
void add_map_axes(Tracer& t);
void add_to_grid(Tracer& t, const std::vector<AxisId>& axes);
// Those that tiles have.
std::vector<AxisId> tile_axes(Tracer& t, const std::vector<AxisId>& axes);

// ---- reductions

tile::Reduce reduction_of(Op op);
ValueId identity_of(Tracer& t, tile::Reduce reduction, DType dtype);
ValueId combine(Tracer& t, tile::Reduce reduction, ValueId a, ValueId b);
// Coordinates of a reduction's result, given those of its operand.
Coordinates after_reduction(const Node& node, const Coordinates& at);

// A reduction that crosses programs: each carries what it has through its loops, and the parts of
// all programs are put together in order.
struct ColumnReduction {
  uint32_t result = 0;
  const Node* node = nullptr;   // the reduction
  Coordinates in;               // coordinates of its operand
  Coordinates out;              // coordinates of the region's result
  std::vector<AxisId> reduced;  // axes of the program that disappear, besides those looped over
  std::vector<AxisId> kept;     // tile axes that stay
};
std::vector<tile::Carry> begin_columns(Tracer& t, const std::vector<ColumnReduction>& columns);
// What to carry on: `carried` and the operand's tile at hand.
std::vector<ValueId> add_columns(Tracer& t, const std::vector<ColumnReduction>& columns,
                                 const std::vector<ValueId>& carried,
                                 const std::vector<AxisId>& rows);
void accumulate_columns(Tracer& t, const std::vector<ColumnReduction>& columns,
                        const std::vector<ValueId>& sums, AxisId over);

// ---- views at the end of a body

// What a result is a rearrangement of: transposes and reshapes at the end are not computed, they
// only say where elements are stored.
Value without_views(const Region& region, Value value);
// Coordinates of `value`, given those of without_views(value).
Coordinates after_views(Tracer& t, Value value, const Coordinates& at);

}  // namespace weft::lowering
