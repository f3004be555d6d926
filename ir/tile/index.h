// Index: an integer expression of tile coordinates, kept in a canonical form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/types/dim.h"

namespace weft::tile {

using AxisId = uint32_t;    // index into Program::axes
using BufferId = uint32_t;  // index into Program::buffers
using ValueId = uint32_t;   // index into Program::values
inline constexpr uint32_t kNone = UINT32_MAX;

struct Program;

// offset + sum of scale * atom.
struct Index {
  struct Term {
    enum class Kind : uint8_t {
      axis,       // the coordinate on `axis_id`
      base,       // the first coordinate of the tile on `axis_id`
      end,        // one more than the last coordinate of the tile that exists
      program,    // number of the grid's program on `axis_id`
      value,      // an integer tile: a gathered index, checked against the buffer's dim
      floor_div,  // inner / divisor, rounded down
      mod,        // inner - divisor * (inner / divisor)
    };
    using enum Kind;
    Kind kind = axis;
    Dim scale = 1;
    AxisId axis_id = kNone;
    ValueId value_id = kNone;
    std::vector<Index> inner;  // one, for floor_div and mod
    Dim divisor = 1;
  };
  Dim offset;
  std::vector<Term> terms;  // sorted by kind, axis, ..; no two alike, no scale of 0

  Index() = default;
  Index(Dim value) : offset(std::move(value)) {}     // NOLINT: a dim is an index
  Index(int64_t value) : offset(Dim(value)) {}       // NOLINT
  Index(int value) : offset(Dim(int64_t{value})) {}  // NOLINT
};

// A total order; terms first by what they are of, then by scale.
std::strong_ordering operator<=>(const Index& a, const Index& b);
std::strong_ordering operator<=>(const Index::Term& a, const Index::Term& b);
bool operator==(const Index& a, const Index& b);
bool operator==(const Index::Term& a, const Index::Term& b);

Index axis_index(AxisId axis);
Index base_index(AxisId axis);
Index end_index(AxisId axis);
Index program_index(AxisId axis);
Index value_index(ValueId value);

Index operator+(const Index& a, const Index& b);
Index operator-(const Index& a, const Index& b);
Index operator*(const Index& a, const Dim& scale);
// Simplified with what is known of the axes' ranges: (64 h + d) / 64 is h where d < 64, and
// (T b + t) % T is t where t runs over T. The divisor is positive.
Index floor_div(const Program& program, const Index& a, const Dim& divisor);
Index mod(const Program& program, const Index& a, const Dim& divisor);

// The interval of an index, as dims; nothing where it depends on a tile's numbers or on the sign of
// a symbolic scale.
struct IndexRange {
  Dim low;
  Dim high;  // inclusive; below `low` if an axis is empty
};
std::optional<IndexRange> range_of(const Program& program, const Index& index);
// True if 0 <= index < limit for every coordinate and every size of the symbols.
bool surely_within(const Program& program, const Index& index, const Dim& limit);

// Coordinates replaced by other indices; what becomes simpler by it is simplified. An axis that is
// replaced occurs only by its coordinate.
Index substitute(const Program& program, const Index& index,
                 const std::map<AxisId, Index>& replacements);

// Calls fn for each term at any depth, outer ones first.
void for_each_term(const Index& index, const std::function<void(const Index::Term&)>& fn);
bool uses_axis(const Index& index, AxisId axis);  // by its coordinate
bool is_affine(const Index& index);               // neither floor_div nor mod
// c, if the index is c * axis + something without the axis; 0 if the axis does not occur.
std::optional<Dim> coefficient(const Index& index, AxisId axis);

// What an index needs to become a number.
struct IndexPoint {
  const DimBinding& dims;
  // The number of an atom: of kind axis, base, end, program or value.
  std::function<std::optional<int64_t>(const Index::Term& atom)> atom;
};
// Nothing on overflow, division by zero, an unbound symbol or an unknown atom.
std::optional<int64_t> evaluate(const Index& index, const IndexPoint& point);

}  // namespace weft::tile
