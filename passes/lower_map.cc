// Regions of kind map: every element by itself.
// SPDX-License-Identifier: Apache-2.0
#include "ir/support/check.h"
#include "passes/lower_kinds.h"

namespace weft::lowering {

void add_map_axes(Tracer& t) {
  const std::vector<Space::Group> groups = t.space().groups(Role::row);
  // Elements of a tile: two tiles of f32 stay near.
  int64_t left = t.region().device.l1_bytes / 8;
  std::vector<tile::Extent> extents(groups.size(), tile::Extent::by(1));
  for (size_t i = groups.size(); i-- > 0 && i + 2 >= groups.size();) {
    const bool last = i + 1 == groups.size();
    const std::string knob = groups.size() == 1 ? "BP" : last ? "BC" : "BR";
    extents[i] = knob_for(t, knob, left, groups[i].dim);
    left = std::max<int64_t>(1, left / *t.b().program().size_of(extents[i]));
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t behind = groups.size() - 1 - i;
    std::string name = behind == 0 ? "c" : behind == 1 ? "r" : "b" + std::to_string(i);
    if (groups.size() == 1) name = "p";
    t.b().grid(add_axis(t, groups[i], name, extents[i]));
  }
}

TracedRegion lower_map(const Region& region, const std::string& name) {
  auto trace = [&](Tracer& t) {
    const std::vector<Output>& outputs = region.body().outputs;
    const Shape shape = region.shape(outputs[0].value);
    const Coordinates at = t.space().directions(shape, Role::row);
    add_map_axes(t);
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      WEFT_CHECK(region.shape(outputs[i].value) == shape, "results of a map have one shape");
      t.store(i, at, t.at(outputs[i].value, at));
    }
  };
  return {{trace_program(region, name, trace)}, {}};
}

}  // namespace weft::lowering
