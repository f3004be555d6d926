// Loops over tiles, and what they carry.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/simt/lowering.h"

namespace weft::simt {
namespace {

// Whether a value is another in each tile of a loop, or of one inside it.
class LoopDependence {
 public:
  LoopDependence(const tile::Program& program, const Stmt& loop, const Facts& facts)
      : p_(program), axes_{loop.axis}, facts_(facts) {
    for_each_statement(loop.body, [&](const Stmt& inner) {
      if (inner.kind == Stmt::loop) axes_.insert(inner.axis);
    });
  }

  bool depends(ValueId id) {
    auto found = known_.find(id);
    if (found != known_.end()) return found->second;
    const Value& value = p_.values[id];
    auto walked = [&](AxisId axis) { return axes_.contains(axis); };
    bool result = value.kind == Value::carried || value.kind == Value::result ||
                  std::ranges::any_of(value.axes, walked) ||
                  std::ranges::any_of(value.axes_reduced, walked);
    if (value.kind == Value::load) result |= facts_.written.contains(value.ref.buffer);
    tile::for_each_index(value, [&](const Index& index) {
      tile::for_each_term(index, [&](const Index::Term& term) { result |= walked(term.axis_id); });
    });
    tile::for_each_use(value, [&](ValueId use) { result = result || depends(use); });
    known_[id] = result;
    return result;
  }

 private:
  const tile::Program& p_;
  std::set<AxisId> axes_;
  const Facts& facts_;
  std::map<ValueId, bool> known_;
};

}  // namespace

// What stays the same comes before the loop.
void Lowering::hoist_out_of(const Stmt& stmt) {
  LoopDependence dependence(p_, stmt, facts_);
  std::set<ValueId> seen;
  std::function<void(ValueId)> visit = [&](ValueId id) {
    if (id == kNone || stage_of(id) != nullptr || !seen.insert(id).second) return;
    const Value& value = p_.values[id];
    const bool inner_axes = std::ranges::any_of(value.axes, [&](AxisId axis) {
      return p_.axes[axis].extent.kind != tile::Extent::whole && !p_.in_grid(axis);
    });
    // A load that only a branch needs stays where it is.
    const bool guarded = value.kind == Value::load && value.where != kNone;
    if (!dependence.depends(id) && !inner_axes && !varies(id, {}) && !guarded) return evaluate(id);
    tile::for_each_use(value, visit);
  };
  for_each_statement(stmt.body, [&](const Stmt& inner) {
    if (inner.kind == Stmt::when) return;
    tile::for_each_use(inner, visit);
    for (ValueId id : inner.yields) visit(id);
  });
  for (ValueId id : stmt.yields) visit(id);
  hoist_addresses({seen.begin(), seen.end()}, stmt.axis);
}

std::vector<Lowering::Carried> Lowering::begin_carried(const Stmt& stmt) {
  std::vector<Carried> carried(stmt.carried.size());
  for (size_t i = 0; i < stmt.carried.size(); ++i) {
    const ValueId id = stmt.carried[i];
    const Value& value = p_.values[id];
    const AxisId pack = pack_of(id);
    packs_[stmt.results[i]] = pack;
    carried[i].at = points(value.axes, pack);
    for (const Point& point : carried[i].at) {
      const std::string start =
          pack != kNone ? vector(stmt.init[i], point, pack) : scalar(stmt.init[i], point);
      carried[i].names.push_back(fresh("c_" + hints_[id]));
      line(type_name(value.dtype, pack != kNone) + " " + carried[i].names.back() + " = " + start +
           ";");
    }
  }
  return carried;
}

void Lowering::know_carried(const std::vector<ValueId>& ids, const std::vector<Carried>& carried) {
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t k = 0; k < carried[i].at.size(); ++k) {
      know(key_of(ids[i], carried[i].at[k], pack_of(ids[i])), carried[i].names[k]);
    }
  }
}

// From the tile that holds the first coordinate to the last.
Lowering::LoopTiles Lowering::loop_tiles(const Stmt& stmt) {
  const tile::Axis& axis = p_.axes[stmt.axis];
  const AxisState& state = axes_[stmt.axis];
  const Point nowhere(p_.axes.size(), 0);
  LoopTiles tiles;
  tiles.size = p_.size_of(p_.tile_extent(stmt.axis)).value_or(1);
  const std::string first = axis.inner ? state.part : "0";
  tiles.last = dim(axis.dim);
  if (axis.inner) {
    tiles.last = integer("min(" + state.part + " + " + std::to_string(*p_.size_of(axis.extent)) +
                         ", " + tiles.last + ")");
  }
  tiles.from = first;
  if (stmt.from) {
    const std::string size = std::to_string(tiles.size);
    const std::string low = "max(" + index(*stmt.from, nowhere, false) + " - " + first + ", 0)";
    tiles.from = integer(first + " + (" + low + ") / " + size + " * " + size);
  }
  if (stmt.to) {
    tiles.last = integer("min(" + index(*stmt.to, nowhere, false) + ", " + tiles.last + ")");
  }
  return tiles;
}

void Lowering::open_tiles(const Stmt& stmt, const LoopTiles& tiles) {
  const tile::Axis& axis = p_.axes[stmt.axis];
  const std::string base = fresh("at_" + axis.name + "_tile");
  const Dim length = axis.inner ? Dim::min(Dim(*p_.size_of(axis.extent)), axis.dim) : axis.dim;
  open_loop("for (int " + base + " = " + tiles.from + "; " + base + " < " + tiles.last + "; " +
                base + " += " + std::to_string(tiles.size) + ")",
            Dim::floor_div(length + Dim(tiles.size - 1), Dim(tiles.size)));
  axes_[stmt.axis].base = base;
}

// The body of a loop reads what all invocations read from tiles in workgroup memory.
void Lowering::sharing_tiles(std::vector<Filling>& fillings, const std::string& half,
                             const Stmt& stmt, const LoopTiles& tiles,
                             const std::function<void()>& body) {
  if (fillings.empty()) return body();
  const std::string next = integer(axes_[stmt.axis].base + " + " + std::to_string(tiles.size));
  while_fetching(fillings, half, next, tiles.last, [&] {
    for (const Filling& filling : fillings) {
      const std::string first = integer(half + " * " + std::to_string(filling.stage->elements));
      reading_[filling.stage->operand] = {filling.stage, filling.name, first};
    }
    open("");
    body();
    close();
    for (const Filling& filling : fillings) reading_.erase(filling.stage->operand);
  });
}

// All of the next values are there before any of the old ones goes.
void Lowering::pass_on(const Stmt& stmt, const std::vector<Carried>& carried) {
  struct Move {
    std::string to, next, type;
  };
  std::vector<Move> moves;
  for (size_t i = 0; i < stmt.carried.size(); ++i) {
    const AxisId pack = pack_of(stmt.carried[i]);
    const DType dtype = p_.values[stmt.carried[i]].dtype;
    for (size_t k = 0; k < carried[i].at.size(); ++k) {
      const Point& at = carried[i].at[k];
      std::string next =
          pack != kNone ? vector(stmt.yields[i], at, pack) : scalar(stmt.yields[i], at);
      if (next == carried[i].names[k]) continue;
      moves.push_back({carried[i].names[k], std::move(next), type_name(dtype, pack != kNone)});
    }
  }
  // One that is passed on from another carried value is kept first.
  for (Move& move : moves) {
    if (moves.size() < 2 || !move.next.starts_with("c_")) continue;
    const std::string kept = fresh("kept");
    line(move.type + " " + kept + " = " + move.next + ";");
    move.next = kept;
  }
  for (const Move& move : moves) line(move.to + " = " + move.next + ";");
}

void Lowering::loop(const Stmt& stmt) {
  const AxisId around = innermost_;
  const AxisState before = axes_[stmt.axis];
  hoist_out_of(stmt);
  const std::vector<Carried> carried = begin_carried(stmt);
  const LoopTiles tiles = loop_tiles(stmt);
  std::vector<Filling> fillings;
  compute_axes_ = layout_.axes;
  for (const Stage& stage : layout_.shared) {
    if (stage.along != stmt.axis) continue;
    fillings.push_back(begin_filling(stage, "tile_" + std::to_string(stage.operand)));
  }
  const std::string half = fillings.empty() ? "" : fill_first(fillings, tiles.from, tiles.last);
  open_tiles(stmt, tiles);
  innermost_ = stmt.axis;
  know_carried(stmt.carried, carried);
  with_axis_steps({stmt.axis}, [&] {
    sharing_tiles(fillings, half, stmt, tiles, [&] {
      const size_t before_yields = later_.size();
      later_.insert(later_.end(), stmt.yields.begin(), stmt.yields.end());
      block(stmt.body);
      later_.resize(before_yields);
      pass_on(stmt, carried);
    });
  });
  axes_[stmt.axis] = before;
  innermost_ = around;
  close_loop();
  know_carried(stmt.results, carried);
}

}  // namespace weft::simt
