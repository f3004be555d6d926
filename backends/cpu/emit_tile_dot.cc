// Products of tiles: where their operands lie, and the call of the function that multiplies.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cpu/emitter.h"
#include "ir/support/check.h"

namespace weft::cpu {

using tile::Value;

// Tiles over axes that have lanes of their own keep them last, in rows of whole vectors.
std::vector<tile::AxisId> KernelEmitter::with_lanes_last(std::vector<AxisId> axes) const {
  auto lanes = tile_lanes_.find(axes);
  if (lanes == tile_lanes_.end()) return axes;
  std::erase(axes, lanes->second);
  axes.push_back(lanes->second);
  return axes;
}

Slot KernelEmitter::padded_slot(DType dtype, const std::vector<AxisId>& axes,
                                const std::string& name) {
  Slot slot;
  slot.axes = axes;
  slot.strides.resize(axes.size());
  Dim elements = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    slot.strides[i] = elements;
    Dim extent = most_coordinates(axes[i]);
    if (i + 1 == axes.size()) extent = round_up(extent, target_.f32_lanes());
    elements = elements * extent;
  }
  for (AxisId axis : axes) slot.bases.push_back(axes_[axis].base);
  slot.address = new_scratch(elements, dtype, name);
  return slot;
}

// How many coordinates every tile of the axis has, if it is the same number.
std::optional<int64_t> KernelEmitter::tile_size(AxisId axis) const {
  auto* size = llvm::dyn_cast<llvm::ConstantInt>(axes_[axis].size);
  if (size != nullptr) return size->getSExtValue();
  const std::optional<int64_t> extent = axes_[axis].extent;
  return extent && never_partial(axis, *extent) ? extent : std::nullopt;
}

Dim KernelEmitter::slot_step(const Slot& slot, AxisId axis) {
  for (size_t i = 0; i < slot.axes.size(); ++i) {
    if (slot.axes[i] == axis) return slot.strides[i];
  }
  return 0;
}

// Copies an operand to rows along `n`, one for each k. Beyond the last n there are zeros.
void KernelEmitter::pack_tile(ValueId id, AxisId k, AxisId n) {
  prepare(id);
  flush();
  std::vector<AxisId> axes = walked({k});
  axes.push_back(n);
  Sink sink = keep_sink(id, padded_slot(DType::f32, axes, "packed"));
  sink.lane = n;
  const Slot slot = *sink.target;
  push(std::move(sink));
  flush();
  slots_[id] = slot;
}

void KernelEmitter::pack_once(ValueId id) {
  auto found = packed_once_.find(id);
  if (found == packed_once_.end() || slots_.contains(id)) return;
  pack_tile(id, found->second.first, found->second.second);
}

TileOperand KernelEmitter::tile_operand(ValueId id, AxisId along, AxisId k) {
  auto slot = slots_.find(id);
  if (slot != slots_.end()) {
    return {slot->second.address, slot_step(slot->second, along), slot_step(slot->second, k), true};
  }
  const Value& value = program_.values[id];
  TileOperand operand{.along = along == tile::kNone ? Dim(0) : step_along(id, along),
                      .deep = step_along(id, k)};
  std::function<void(const std::vector<AxisId>&)> at_first = [&](const std::vector<AxisId>& rest) {
    if (rest.empty()) {
      operand.address = element_address(buffer_addresses_[value.ref.buffer],
                                        offset(value.ref, nullptr).first, value.dtype);
      return;
    }
    at_level(rest.back(), axes_[rest.back()].base, 1, [&] {
      at_first({rest.begin(), rest.end() - 1});
    });
  };
  apart([&] { at_first(walked(value.axes)); });
  return operand;
}

// In vectors along n: in place, or in scratch with n last.
TileOperand KernelEmitter::vector_operand(const TileDot& dot) {
  auto slot = slots_.find(dot.vectors);
  const bool in_scratch = slot != slots_.end() && slot_step(slot->second, dot.n).is_constant(1);
  const bool in_place = slot == slots_.end() && !dot.copies && reads_in_place(dot.vectors);
  if (!in_scratch && !in_place) pack_tile(dot.vectors, dot.k, dot.n);
  return tile_operand(dot.vectors, dot.n, dot.k);
}

// Number by number: in place, or in scratch in any order.
TileOperand KernelEmitter::element_operand(const TileDot& dot) {
  const bool pending = std::ranges::any_of(pending_, [&](const Sink& sink) {
    return sink.kind == Sink::keep && !sink.target && sink.value == dot.elements;
  });
  if (!slots_.contains(dot.elements) && !reads_in_place(dot.elements) && !pending) {
    push(keep_sink(dot.elements, std::nullopt));
  }
  flush();
  return tile_operand(dot.elements, dot.m, dot.k);
}

// True if nothing but what the nest computes, or what was computed already, is made of a value.
bool KernelEmitter::is_last_read(ValueId id, const std::vector<Sink>& nest) const {
  return std::ranges::all_of(users_[id], [&](ValueId user) {
    if (user == tile::kNone) return false;
    const bool here =
        std::ranges::any_of(nest, [&](const Sink& sink) { return sink.value == user; });
    if (here || slots_.contains(user)) return true;
    return program_.values[user].kind == Value::map && is_last_read(user, nest);
  });
}

// The place of a product that a kept value is made of, if this nest is the last to read it.
std::optional<Slot> KernelEmitter::slot_to_reuse(const Sink& keep, const std::vector<Sink>& nest) {
  if (!tile_lanes_.contains(keep.axes)) return std::nullopt;
  const Value& value = program_.values[keep.value];
  std::optional<Slot> found;
  std::function<void(ValueId)> look = [&](ValueId id) {
    const Value& part = program_.values[id];
    auto slot = slots_.find(id);
    if (slot == slots_.end()) {
      if (part.kind == Value::map) std::ranges::for_each(part.operands, look);
      return;
    }
    auto dot = tile_dots_.find(id);
    const bool own = dot != tile_dots_.end() && dot->second.carried == tile::kNone;
    const bool fits = part.axes == value.axes && part.dtype == value.dtype;
    auto taken = [&](const auto& other) { return other.second.address == slot->second.address; };
    if (!own || !fits || std::ranges::any_of(fresh_, taken)) return;
    if (is_last_read(id, nest)) found = slot->second;
  };
  std::ranges::for_each(value.operands, look);
  return found;
}

// Where the sums go, holding what they start from if there is something.
Slot KernelEmitter::tile_sums(ValueId id, const TileDot& dot) {
  const Value& value = program_.values[id];
  std::vector<AxisId> axes;
  if (dot.m != tile::kNone) axes.push_back(dot.m);
  axes.push_back(dot.n);
  const bool in_place = dot.carried != tile::kNone && slots_.contains(dot.carried);
  const Slot sums = in_place ? slots_.at(dot.carried) : padded_slot(DType::f32, axes, "sums");
  const bool starts = value.operands.size() == 3;
  if (starts && !(in_place && value.operands[2] == dot.carried)) {
    push(keep_sink(value.operands[2], sums));
    flush();
  }
  return sums;
}

void KernelEmitter::emit_tile_dot(ValueId id) {
  const TileDot& dot = tile_dots_.at(id);
  const TileOperand elements = element_operand(dot);
  const TileOperand vectors = vector_operand(dot);
  const Slot sums = tile_sums(id, dot);
  const bool deep = !axes_[dot.k].single;
  TileKind kind;
  kind.adds = program_.values[id].operands.size() == 3;
  kind.masked = !vectors.padded && !never_partial(dot.n, target_.f32_lanes());
  kind.rows = dot.m == tile::kNone ? 1 : tile_size(dot.m);
  kind.columns = tile_size(dot.n);
  kind.result_step = dot.m == tile::kNone ? Dim(0) : slot_step(sums, dot.m);
  kind.vectors_step = deep ? vectors.deep : Dim(0);
  kind.elements_row = elements.along;
  kind.elements_step = deep ? elements.deep : Dim(0);
  llvm::Value* rows = dot.m == tile::kNone ? i64(1) : axes_[dot.m].size;
  ir_.CreateCall(tile_function(kind),
                 {sums.address, vectors.address, elements.address, rows, axes_[dot.n].size,
                  deep ? axes_[dot.k].size : i64(1), dim(kind.result_step), dim(kind.vectors_step),
                  dim(kind.elements_row), dim(kind.elements_step)});
  slots_[id] = sums;
}

}  // namespace weft::cpu
