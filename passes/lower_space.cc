// SPDX-License-Identifier: Apache-2.0
#include "passes/lower_space.h"

#include <algorithm>

#include "ir/support/check.h"

namespace weft::lowering {
namespace {

using tile::AxisId;
using tile::Index;

bool depends_on_numbers(const Index& index) {
  bool found = false;
  tile::for_each_term(
      index, [&](const Index::Term& term) { found = found || term.kind == Index::Term::value; });
  return found;
}

// Dims first .. last of an access as one.
Access merged(const Access& access, size_t first, size_t last) {
  Access result;
  for (size_t i = 0; i < access.dims.size(); ++i) {
    if (i <= first || i > last) {
      result.dims.push_back(access.dims[i]);
      result.strides.push_back(access.strides[i]);
      result.at.push_back(access.at[i]);
      continue;
    }
    result.dims.back() = result.dims.back() * access.dims[i];
    result.strides.back() = access.strides[i];
    result.at.back() = result.at.back() * access.dims[i] + access.at[i];
  }
  return result;
}

// The dims whose index uses one of the axes, as first and last; nothing if there are none.
std::optional<std::pair<size_t, size_t>> range_using(const Access& access,
                                                     const std::vector<AxisId>& axes) {
  std::optional<std::pair<size_t, size_t>> range;
  for (size_t i = 0; i < access.at.size(); ++i) {
    auto used = [&](AxisId axis) { return tile::uses_axis(access.at[i], axis); };
    if (!std::ranges::any_of(axes, used)) continue;
    range = {range ? range->first : i, i};
  }
  return range;
}

}  // namespace

Access simplified(Access access) {
  // Nothing is ever touched in an empty buffer, but its dims are not one in place of another.
  if (std::ranges::count(access.dims, Dim(0)) > 0) {
    Shape sizes = access.dims;
    std::ranges::replace(sizes, Dim(0), Dim(1));
    access.strides = tile::row_major_strides(sizes);
  }
  Access result;
  for (size_t i = 0; i < access.dims.size(); ++i) {
    const bool idle = access.dims[i].is_constant(1) || access.strides[i].is_constant(0);
    if (idle && !depends_on_numbers(access.at[i])) continue;
    result.dims.push_back(access.dims[i]);
    result.strides.push_back(access.strides[i]);
    result.at.push_back(access.at[i]);
  }
  return result;
}

void Space::begin() {
  next_ = 0;
  fine_.axes.clear();
  axes_.clear();
  split_.reset();
  role_changed_ = false;
  accesses_.clear();
  indices_.clear();
}

void Space::add_fine_axes(size_t direction) {
  const Direction& d = directions_[direction];
  for (size_t i = 0; i < d.factors.size(); ++i) {
    const size_t axis = axes_.size();
    axes_.push_back({direction, i, axis < joins_.size() && joins_[axis], {}});
    fine_.axes.push_back({.name = std::to_string(axis), .dim = d.factors[i]});
  }
}

Index Space::direction(const Dim& dim, Role role, uint32_t part, bool splits) {
  if (dim.is_constant(1)) return {};
  if (next_ == directions_.size()) directions_.push_back({dim, role, part, splits, {dim}});
  const Direction& d = directions_[next_];
  WEFT_CHECK(d.dim == dim, "every run declares the same directions");
  const auto first = static_cast<AxisId>(axes_.size());
  add_fine_axes(next_++);
  Index index;
  for (size_t i = 0; i < d.factors.size(); ++i) {
    index = index * d.factors[i] + tile::axis_index(first + static_cast<AxisId>(i));
  }
  return index;
}

std::vector<Index> Space::directions(const Shape& shape, Role role) {
  std::vector<Index> coordinates;
  for (const Dim& dim : shape) coordinates.push_back(direction(dim, role));
  return coordinates;
}

std::vector<Space::Group> Space::groups(Role role, uint32_t part) const {
  std::vector<Group> found;
  for (AxisId axis = 0; axis < axes_.size(); ++axis) {
    const Direction& d = directions_[axes_[axis].direction];
    if (d.role != role || d.part != part) continue;
    if (!axes_[axis].joins || found.empty()) found.push_back({role, part, 1, {}});
    found.back().dim = found.back().dim * fine_.axes[axis].dim;
    found.back().fine.push_back(axis);
  }
  return found;
}

void Space::bind(const Group& group, AxisId axis) {
  // Joined axes occur only as outer * size + inner: with 0 for the outer ones the inner is the sum.
  for (AxisId fine : group.fine) axes_[fine].real = Index();
  axes_[group.fine.back()].real = tile::axis_index(axis);
}

Index Space::real(const tile::Program& program, const Index& index) const {
  std::map<AxisId, Index> replacements;
  for (AxisId axis = 0; axis < axes_.size(); ++axis) replacements[axis] = axes_[axis].real;
  return tile::substitute(program, index, replacements);
}

Access Space::real(const tile::Program& program, const Access& access) const {
  Access result = access;
  for (AxisId axis = 0; axis < axes_.size(); ++axis) {
    if (!axes_[axis].joins) continue;
    if (auto range = range_using(result, {*before(axis), axis})) {
      result = merged(result, range->first, range->second);
    }
  }
  for (Index& index : result.at) index = real(program, index);
  return result;
}

std::optional<AxisId> Space::before(AxisId axis) const {
  const Direction& d = directions_[axes_[axis].direction];
  for (AxisId other = axis; other-- > 0;) {
    const Direction& candidate = directions_[axes_[other].direction];
    if (candidate.role == d.role && candidate.part == d.part) return other;
  }
  return std::nullopt;
}

// In every place the outer axis counts for as much as all of the inner one.
bool Space::walks_as_one(const Index& index, AxisId outer, AxisId inner) const {
  Dim of_outer;
  Dim of_inner;
  for (const Index::Term& term : index.terms) {
    if (!term.inner.empty() && !walks_as_one(term.inner[0], outer, inner)) return false;
    if (term.kind != Index::Term::axis) continue;
    if (term.axis_id == outer) of_outer = term.scale;
    if (term.axis_id == inner) of_inner = term.scale;
  }
  return facts_.equal(of_outer, of_inner * fine_.axes[inner].dim);
}

bool Space::walks_as_one(const Access& access, AxisId outer, AxisId inner) const {
  auto range = range_using(access, {outer, inner});
  if (!range) return true;
  for (size_t i = range->first; i < range->second; ++i) {
    const Dim run = access.strides[i + 1] * access.dims[i + 1];
    if (!facts_.equal(access.strides[i], run)) return false;
  }
  for (size_t i = range->first; range->first < range->second && i <= range->second; ++i) {
    if (depends_on_numbers(access.at[i])) return false;
  }
  const Access one = merged(access, range->first, range->second);
  return walks_as_one(one.at[range->first], outer, inner);
}

bool Space::may_join(AxisId outer, AxisId inner) const {
  return std::ranges::all_of(accesses_,
                             [&](const Access& a) { return walks_as_one(a, outer, inner); }) &&
         std::ranges::all_of(indices_,
                             [&](const Index& i) { return walks_as_one(i, outer, inner); });
}

// An axis with weight w over dim g * f has to be split where one of the sizes begins at w * f.
void Space::ask_split(const Index& index, const Shape& sizes) {
  if (split_) return;
  Dim boundary = 1;
  for (size_t i = sizes.size(); i-- > 1;) {
    boundary = boundary * sizes[i];
    for (const Index::Term& term : index.terms) {
      if (term.kind != Index::Term::axis) continue;
      const Fine& axis = axes_[term.axis_id];
      if (!directions_[axis.direction].splits) continue;
      const Dim& dim = fine_.axes[term.axis_id].dim;
      std::optional<Dim> inner = Dim::exact_quotient(boundary, term.scale);
      if (!inner || inner->is_constant(1) || inner->is_constant(0) || *inner == dim) continue;
      std::optional<Dim> outer = Dim::exact_quotient(dim, *inner);
      if (!outer || outer->is_constant(1) || outer->is_constant(0)) continue;
      split_ = {axis.direction, axis.factor, *outer, *inner};
      return;
    }
  }
}

void Space::set_role(size_t direction, Role role) {
  if (directions_[direction].role == role) return;
  directions_[direction].role = role;
  role_changed_ = true;
}

std::vector<AxisId> Space::axes_of(size_t direction) const {
  std::vector<AxisId> axes;
  for (const Fine& fine : axes_) {
    if (fine.direction != direction || fine.real.terms.empty()) continue;
    axes.push_back(fine.real.terms[0].axis_id);
  }
  return axes;
}

bool Space::refine() {
  if (split_) {
    std::vector<Dim>& factors = directions_[split_->direction].factors;
    auto at = factors.begin() + static_cast<ptrdiff_t>(split_->factor);
    *at = split_->inner;
    factors.insert(at, split_->outer);
    return true;
  }
  if (role_changed_) return true;
  if (!joins_.empty() || axes_.empty()) return false;
  joins_.assign(axes_.size(), false);
  for (AxisId axis = 0; axis < axes_.size(); ++axis) {
    std::optional<AxisId> outer = before(axis);
    joins_[axis] = outer && may_join(*outer, axis);
  }
  return std::ranges::any_of(joins_, [](bool joins) { return joins; });
}

}  // namespace weft::lowering
