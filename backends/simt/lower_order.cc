// When values are computed: all that an invocation holds of one, and before a loop what it needs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {

void Lowering::evaluate(ValueId id) {
  const Value& value = p_.values[id];
  if (value.kind == Value::constant || value.kind == Value::carried || value.kind == Value::result)
    return;
  const AxisId pack = pack_of(id);
  const std::vector<Point> all = points(value.axes, pack);
  if (value.kind == Value::reduce || value.kind == Value::dot) {
    if (known(key_of(id, all[0], pack)) != nullptr) return;
    if (value.kind == Value::dot) return dot(id);
    return walking_again(value.axes_reduced,
                         [&] { value.reduction == Reduce::argmax ? argmax(id) : reduce(id); });
  }
  for (const Point& at : all) element(id, at, pack);
}

bool Lowering::varies(ValueId id, const std::set<AxisId>& axes) {
  return std::ranges::any_of(p_.values[id].axes, [&](AxisId axis) {
    return axes.contains(axis) || (layout_.axes[axis].stepped && !open_.contains(axis));
  });
}

void Lowering::hoist(const std::vector<ValueId>& roots, const std::set<AxisId>& axes) {
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == kNone || !seen.insert(id).second) return;
    if (!varies(id, axes)) return evaluate(id);
    tile::for_each_use(p_.values[id], visit);
  };
  for (ValueId root : roots) visit(root);
}

}  // namespace weft::simt
