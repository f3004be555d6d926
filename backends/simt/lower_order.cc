// When values are computed and stored: all that an invocation holds of one, and before a loop what
// it needs.
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

// The program's statements, each store as soon as what it needs is there: results of a product wait
// in no registers for the products behind it. Only what nothing else touches moves, and only where
// it does not matter when its operands are read.
tile::Block Lowering::with_early_stores() const {
  if (facts_.dots.size() < 2 || facts_.chained) return p_.body;
  std::map<BufferId, int> accesses;
  for (const Access& access : facts_.accesses) ++accesses[access.ref->buffer];
  tile::Block ordered;
  for (const Stmt& stmt : p_.body) {
    bool moves = stmt.kind == Stmt::store && accesses[stmt.ref.buffer] == 1;
    std::set<ValueId> needed;
    std::function<void(ValueId)> visit = [&](ValueId id) {
      if (!needed.insert(id).second) return;
      const Value& value = p_.values[id];
      if (value.kind == Value::load && written(value.ref.buffer)) moves = false;
      tile::for_each_use(value, visit);
    };
    tile::for_each_use(stmt, visit);
    auto place = ordered.end();
    while (moves && place != ordered.begin()) {
      const Stmt& before = *std::prev(place);
      if (before.kind == Stmt::let && needed.contains(before.value)) break;
      const bool gives = std::ranges::any_of(
          before.results, [&](ValueId result) { return needed.contains(result); });
      if (gives || before.kind == Stmt::store) break;
      --place;
    }
    ordered.insert(place, stmt);
  }
  return ordered;
}

}  // namespace weft::simt
