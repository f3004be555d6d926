// Products: sums in registers, a step of the contraction at a time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "backends/simt/lowering.h"

namespace weft::simt {

void Lowering::dot(ValueId id) {
  if (layout_.fragments) return dot_in_fragments(id);
  const Value& value = p_.values[id];
  const AxisId pack = pack_of(id);
  const std::vector<Point> at = points(value.axes, pack);
  const bool has_start = value.operands.size() > 2;
  const AxisId along = value.axes_reduced[0];
  const AxisLayout& layout = layout_.axes[along];
  const bool shared = layout.lanes > 1 || layout.waves > 1;
  std::vector<std::string> sums;
  const std::string type = type_name(value.dtype, pack != kNone);
  for (size_t i = 0; i < at.size(); ++i) sums.push_back(fresh("product"));
  auto begin = [&](size_t i) {
    std::string start = type + "(0)";
    if (has_start && !shared) {
      start =
          pack != kNone ? vector(value.operands[2], at[i], pack) : scalar(value.operands[2], at[i]);
    }
    line(type + " " + sums[i] + " = " + start + ";");
  };
  // Without steps one result is finished after the other.
  if (!layout.stepped && !shared && sums_one_by_one(value, at, pack)) {
    for (size_t i : one_side_after_the_other(value, at)) {
      begin(i);
      dot_step(value, {sums[i]}, pack, {at[i]});
      wrap(sums[i], value.dtype);
      know(key_of(id, at[i], pack), sums[i]);
    }
    return;
  }
  for (size_t i = 0; i < at.size(); ++i) begin(i);
  auto step = [&] { dot_step(value, sums, pack, at); };
  if (stage_of(value.operands[0]) != nullptr) {
    staged_steps(value, [&](const std::vector<Filling>& fillings, const std::string& half) {
      multiply_tiles(fillings, half, step);
    });
  } else if (layout.stepped && !open_.contains(along) && may_end_within(along) && !shared) {
    in_whole_steps(value, step);
  } else {
    in_steps(value.axes_reduced, {value.operands[0], value.operands[1]}, step);
  }
  for (size_t i = 0; i < at.size(); ++i) {
    if (shared) {
      across(value.axes_reduced, {sums[i]}, {type}, [&](const std::vector<std::string>& other) {
        line(sums[i] + " = " + sums[i] + " + " + other[0] + ";");
      });
    }
    if (shared && has_start) {
      const std::string start =
          pack != kNone ? vector(value.operands[2], at[i], pack) : scalar(value.operands[2], at[i]);
      line(sums[i] + " = " + start + " + " + sums[i] + ";");
    }
    wrap(sums[i], value.dtype);
    know(key_of(id, at[i], pack), sums[i]);
  }
}

// Steps of which all coordinates exist, then what is left one after the other: no sum asks whether
// a coordinate exists.
void Lowering::in_whole_steps(const Value& dot, const std::function<void()>& body) {
  const AxisId along = dot.axes_reduced[0];
  const std::vector<ValueId> sides = {dot.operands[0], dot.operands[1]};
  const AxisId before = innermost_;
  const int64_t registers = layout_.axes[along].registers;
  hoist(sides, {along});
  innermost_ = along;
  hoist_addresses(sides, along);
  const std::string count = integer(tile_end(along) + " - " + axes_[along].base);
  const std::string step = fresh("at_" + p_.axes[along].name + "_step");
  line("int " + step + " = 0;");
  const std::optional<int64_t> tile = p_.size_of(p_.tile_extent(along));
  const Dim length = tile ? Dim::min(Dim(*tile), p_.axes[along].dim) : p_.axes[along].dim;
  for (int64_t some : {registers, int64_t{1}}) {
    layout_.axes[along].registers = some;
    const int64_t span = layout_.axes[along].span();
    const std::string next = std::to_string(span);
    open_loop("for (; " + step + " + " + next + " <= " + count + "; " + step + " += " + next + ")",
              some == registers ? Dim::floor_div(length, Dim(span)) : Dim(registers - 1));
    axes_[along].step = step;
    open_.insert(along);
    whole_axis_ = along;
    body();
    whole_axis_ = kNone;
    open_.erase(along);
    axes_[along].step.clear();
    close_loop();
    if (registers == 1) break;
  }
  layout_.axes[along].registers = registers;
  innermost_ = before;
}

bool Lowering::reads_tiles(const Value& dot) const {
  return reading_.contains(dot.operands[0]) && reading_.contains(dot.operands[1]);
}

// Whether all products of one result come before those of the next: if the results are more than
// the registers of a processor, each is then fetched and put back once.
bool Lowering::sums_one_by_one(const Value& value, const std::vector<Point>& at, AxisId packed) {
  constexpr int64_t kRegisters = 16;
  const AxisId along = value.axes_reduced[0];
  const bool whole = reads_tiles(value) || !may_end_within(along);
  return whole && static_cast<int64_t>(at.size()) * (packed != kNone ? 4 : 1) > kRegisters;
}

// The results of a product in an order in which each element of one side is needed for a while and
// then no more: of the side that is still to be computed, or else of the left one.
std::vector<size_t> Lowering::one_side_after_the_other(const Value& value,
                                                       const std::vector<Point>& at) {
  const bool ready = p_.values[value.operands[0]].kind != Value::load;
  const std::vector<AxisId>& slow = p_.values[value.operands[ready ? 1 : 0]].axes;
  std::vector<size_t> order(at.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    for (AxisId axis : value.axes) {
      if (std::ranges::count(slow, axis) == 0 || at[a][axis] == at[b][axis]) continue;
      return at[a][axis] < at[b][axis];
    }
    return false;
  });
  return order;
}

// The products of one step. Where coordinates may be missing both sides are left out: what stands
// in for them may be infinite.
void Lowering::dot_step(const Value& value, const std::vector<std::string>& sums, AxisId packed,
                        const std::vector<Point>& at) {
  const ValueId a = value.operands[0];
  const ValueId b = value.operands[1];
  const AxisId along = value.axes_reduced[0];
  const bool fours = packed == kNone && pack_of(a) == along && pack_of(b) == along;
  auto product = [&](const Point& outer, const Point& inner) {
    const Point point = merged(outer, inner, value.axes_reduced);
    if (fours) return "dot(" + vector(a, point, along) + ", " + vector(b, point, along) + ")";
    // A number of one side times four of the other needs no pack of its own.
    auto side = [&](ValueId id) {
      const bool has = packed != kNone && std::ranges::count(p_.values[id].axes, packed) > 0;
      return has ? vector(id, point, packed) : scalar(id, point);
    };
    const std::string left = side(a);
    return left + " * " + side(b);
  };
  const std::vector<Point> all = points({along}, fours ? along : kNone);
  if (sums_one_by_one(value, at, packed)) {
    for (size_t i : one_side_after_the_other(value, at)) {
      for (const Point& inner : all) line(sums[i] + " += " + product(at[i], inner) + ";");
    }
    return;
  }
  for (const Point& inner : all) {
    std::vector<std::string> products;  // computed outside of the branch: others may need parts
    for (const Point& outer : at) products.push_back(product(outer, inner));
    // Tiles in workgroup memory hold zeros there.
    const std::string here = reads_tiles(value) ? "" : exists(along, inner);
    if (!here.empty()) open("if (" + here + ")");
    for (size_t i = 0; i < at.size(); ++i) line(sums[i] + " += " + products[i] + ";");
    if (!here.empty()) close();
  }
}

}  // namespace weft::simt
