// The iteration space of a Tile program under construction: which axes it has.
//
// A program is traced several times. Coordinates are first indices of fine axes, one per dim of the
// space; what the accesses ask for then refines the space: a reshape splits an axis where its index
// would otherwise need a division, and neighbours that every access walks as one are joined.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ir/tile/build.h"

namespace weft::lowering {

// What an axis is for. Only axes of one role are joined.
enum class Role : uint8_t {
  row,       // results have it; programs differ in it
  column,    // reduced by row reductions
  batch,     // of a matmul: both operands have it
  left,      // only the left one
  right,     // only the right one
  inner,     // contracted
  position,  // along a scan, or numbers the indices of a scatter
  rank,      // numbers the results of top_k
};

// Elements of a buffer that an index list reads or writes, before axes are joined.
struct Access {
  Shape dims;
  std::vector<Dim> strides;
  std::vector<tile::Index> at;
};
// Without the dims whose index does not matter: size 1, or stride 0. Those that depend on numbers
// stay, because they are checked.
Access simplified(Access access);

class Space {
 public:
  explicit Space(const DimFacts& facts) : facts_(facts) {}

  // ---- one run: directions are declared in the same order each time
  void begin();
  // The coordinate along the next direction; 0 for a dim of 1. Directions of role `inner` are
  // joined only within one `part`.
  tile::Index direction(const Dim& dim, Role role, uint32_t part = 0, bool splits = true);
  std::vector<tile::Index> directions(const Shape& shape, Role role);

  // Neighbouring fine axes that one axis of the program walks.
  struct Group {
    Role role = Role::row;
    uint32_t part = 0;
    Dim dim = 1;
    std::vector<tile::AxisId> fine;  // outermost first
  };
  std::vector<Group> groups(Role role, uint32_t part = 0) const;
  void bind(const Group& group, tile::AxisId axis);
  // An index of fine axes as one of the program's, all of whose axes are bound.
  tile::Index real(const tile::Program& program, const tile::Index& index) const;
  // The same for an access: dims that one axis walks become one dim.
  Access real(const tile::Program& program, const Access& access) const;
  // What division of indices has to know.
  const tile::Program& fine_axes() const { return fine_; }

  // ---- what a run found out
  void saw(const Access& access) { accesses_.push_back(access); }
  void saw(const tile::Index& index) { indices_.push_back(index); }
  // `index` had to be divided because it runs over dims `sizes` of a reshape: notes an axis to
  // split.
  void ask_split(const tile::Index& index, const Shape& sizes);
  // A direction that turned out to have another role. Directions count from 0, in order of their
  // declaration, those of size 1 left out.
  void set_role(size_t direction, Role role);
  Role role(size_t direction) const { return directions_[direction].role; }
  size_t direction_count() const { return next_; }
  std::vector<tile::AxisId> axes_of(size_t direction) const;  // of the program
  // Takes the findings over; true if the program has to be traced again.
  bool refine();

 private:
  struct Direction {
    Dim dim;
    Role role = Role::row;
    uint32_t part = 0;
    bool splits = true;
    std::vector<Dim> factors;  // of dim, outermost first; a fine axis each
  };
  struct Fine {
    size_t direction = 0;
    size_t factor = 0;
    bool joins = false;  // continues the fine axis of its role before it
    tile::Index real;
  };
  void add_fine_axes(size_t direction);
  std::optional<tile::AxisId> before(tile::AxisId axis) const;
  bool may_join(tile::AxisId outer, tile::AxisId inner) const;
  bool walks_as_one(const tile::Index& index, tile::AxisId outer, tile::AxisId inner) const;
  bool walks_as_one(const Access& access, tile::AxisId outer, tile::AxisId inner) const;

  const DimFacts& facts_;
  std::vector<Direction> directions_;
  size_t next_ = 0;
  tile::Program fine_;  // only its axes: what division of indices knows of ranges
  std::vector<Fine> axes_;
  std::vector<bool> joins_;  // per fine axis, once decided
  struct Split {
    size_t direction = 0;
    size_t factor = 0;
    Dim outer;
    Dim inner;
  };
  std::optional<Split> split_;
  bool role_changed_ = false;
  std::vector<Access> accesses_;
  std::vector<tile::Index> indices_;
};

}  // namespace weft::lowering
