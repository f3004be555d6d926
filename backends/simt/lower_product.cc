// Products: sums in registers, a step of the contraction at a time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {

void Lowering::dot(ValueId id) {
  const Value& value = p_.values[id];
  const AxisId pack = pack_of(id);
  const std::vector<Point> at = points(value.axes, pack);
  const bool has_start = value.operands.size() > 2;
  const AxisId along = value.axes_reduced[0];
  const AxisLayout& layout = layout_.axes[along];
  const bool shared = layout.lanes > 1 || layout.waves > 1;
  std::vector<std::string> sums;
  const std::string type = type_name(value.dtype, pack != kNone);
  for (const Point& point : at) {
    std::string start = type + "(0)";
    if (has_start && !shared) {
      start =
          pack != kNone ? vector(value.operands[2], point, pack) : scalar(value.operands[2], point);
    }
    sums.push_back(fresh("product"));
    line(type + " " + sums.back() + " = " + start + ";");
  }
  in_steps(value.axes_reduced, {value.operands[0], value.operands[1]},
           [&] { dot_step(value, sums, pack, at); });
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
    know(key_of(id, at[i], pack), sums[i]);
  }
}

// The products of one step. Where coordinates may be missing both sides are left out: what stands
// in for them may be infinite.
void Lowering::dot_step(const Value& value, const std::vector<std::string>& sums, AxisId packed,
                        const std::vector<Point>& at) {
  const ValueId a = value.operands[0];
  const ValueId b = value.operands[1];
  const AxisId along = value.axes_reduced[0];
  const bool fours = packed == kNone && pack_of(a) == along && pack_of(b) == along;
  for (const Point& inner : points({along}, fours ? along : kNone)) {
    std::vector<std::string> products;  // computed outside of the branch: others may need parts
    for (const Point& outer : at) {
      const Point point = merged(outer, inner, value.axes_reduced);
      if (fours) {
        products.push_back("dot(" + vector(a, point, along) + ", " + vector(b, point, along) + ")");
        continue;
      }
      // A number of one side times four of the other needs no pack of its own.
      auto side = [&](ValueId id) {
        const bool has = packed != kNone && std::ranges::count(p_.values[id].axes, packed) > 0;
        return has ? vector(id, point, packed) : scalar(id, point);
      };
      products.push_back(side(a) + " * " + side(b));
    }
    const std::string here = exists(along, inner);
    if (!here.empty()) open("if (" + here + ")");
    for (size_t i = 0; i < at.size(); ++i) line(sums[i] + " += " + products[i] + ";");
    if (!here.empty()) close();
  }
}

}  // namespace weft::simt
