// What a graph leaves behind: new values of storage, and outputs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "passes/plan_work.h"
#include "passes/views.h"

namespace weft {
namespace {

class Results {
 public:
  explicit Results(TaskMaker& maker)
      : maker_(maker), work_(maker.work()), graph_(maker.graph()), context_(maker.context()) {}

  Status run() {
    for (const Update& update : graph_.updates) updated_.push_back(place_of(update));
    std::vector<bool> done = write_directly();
    for (size_t i = 0; i < updated_.size(); ++i) {
      if (!done[i]) WEFT_TRY_STATUS(copy_update(i));
    }
    for (const Output& output : graph_.outputs) WEFT_TRY_STATUS(put_output(output));
    return ok();
  }

 private:
  // Where the new value of a storage has to go.
  struct Place {
    SlotId storage = 0;
    Dim offset;
    Dim elements;
  };

  Place place_of(const Update& update) {
    const Type& type = graph_.type(update.value);
    const StorageHome& home = context_.homes.at(update.target);
    return {work_.storage_slot(home, type.dtype), home.offset, element_count(type.shape)};
  }

  // Updates whose values are all of what some task computes, in the storage's order, are written by
  // that task itself: nothing is copied.
  std::vector<bool> write_directly() {
    std::vector<bool> done(updated_.size());
    std::map<SlotId, std::vector<size_t>> by_source;
    for (size_t i = 0; i < updated_.size(); ++i) {
      Access source = maker_.access(graph_.updates[i].value);
      if (is_contiguous_value(graph_.updates[i].value)) by_source[source.slot].push_back(i);
    }
    for (const auto& [slot, updates] : by_source) {
      std::optional<Dim> offset = common_offset(slot, updates);
      if (!offset || !move_to(slot, updated_[updates[0]].storage, *offset)) continue;
      for (size_t i : updates) done[i] = true;
    }
    return done;
  }

  bool is_contiguous_value(Value value) const {
    const DimFacts& facts = context_.module.dims;
    return is_contiguous(view_of(graph_, value, facts), graph_.type(value).shape, facts);
  }

  // Where in a storage the slot has to lie so that every update that comes from it is in its place;
  // nothing if there is no such place, or more than what is updated would be overwritten.
  std::optional<Dim> common_offset(SlotId slot, const std::vector<size_t>& updates) const {
    std::optional<Dim> offset;
    Dim covered;
    for (size_t i : updates) {
      Dim wanted = updated_[i].offset - maker_.access(graph_.updates[i].value).offset;
      if (updated_[i].storage != updated_[updates[0]].storage) return std::nullopt;
      if (offset && *offset != wanted) return std::nullopt;
      offset = wanted;
      covered = covered + updated_[i].elements;
    }
    if (!context_.module.dims.equal(covered, work_.slots[slot].elements)) return std::nullopt;
    return offset;
  }

  // Makes the task that computes `slot` write it to the storage, if every reader of the old value
  // can come before.
  bool move_to(SlotId slot, SlotId storage, const Dim& offset) {
    PlanSlot& value = work_.slots[slot];
    if (value.kind != PlanBuffer::arena || value.inside || !value.parts.empty()) return false;
    std::vector<TaskId> writers;
    for (TaskId task = 0; task < work_.tasks.size(); ++task) {
      if (std::ranges::count(work_.tasks[task].results, slot) > 0) writers.push_back(task);
    }
    if (writers.size() != 1) return false;
    std::vector<std::vector<TaskId>> edges = successors(work_);
    std::vector<uint32_t> own;  // operands of the writer itself that are the old value
    for (TaskId task = 0; task < work_.tasks.size(); ++task) {
      const std::vector<Access>& operands = work_.tasks[task].operands;
      for (uint32_t k = 0; k < operands.size(); ++k) {
        if (operands[k].slot != storage) continue;
        if (!may_overlap(operands[k], offset, value.elements)) continue;
        if (task != writers[0] && reaches(edges, writers[0], task)) return false;
        if (task == writers[0]) own.push_back(k);
      }
    }
    if (!own.empty() && !overwrite_own(work_.tasks[writers[0]], own, slot, offset)) return false;
    work_.slots[slot].inside = storage;
    work_.slots[slot].offset = offset;
    return true;
  }

  static bool overwrite_own(Task& task, const std::vector<uint32_t>& own, SlotId slot,
                            const Dim& offset) {
    if (task.kind != Step::launch) return false;
    bool aligned =
        std::ranges::all_of(own, [&](uint32_t k) { return task.operands[k].offset == offset; });
    if (!aligned) return false;
    auto result = std::ranges::find(task.results, slot) - task.results.begin();
    return run_in_place(task.lowered, own, static_cast<uint32_t>(result));
  }

  Status copy_update(size_t i) {
    Value value = graph_.updates[i].value;
    const Place& place = updated_[i];
    Access source = maker_.access(value);
    if (source.slot == place.storage && source.offset == place.offset &&
        is_contiguous_value(value)) {
      return ok();  // keeps what it has
    }
    const DType dtype = work_.slots[source.slot].dtype;
    const bool old_value =
        work_.slots[source.slot].kind == PlanBuffer::storage && is_updated(source);
    SlotId target =
        work_.add_slot({PlanBuffer::arena, graph_.updates[i].target, dtype, place.elements});
    WEFT_TRY_STATUS(maker_.copy_to(value, target));
    if (old_value) {  // kept aside until nobody reads what the copy overwrites
      SlotId aside = target;
      target = work_.add_slot(work_.slots[aside]);
      Task copy{
          Step::copy, graph_.updates[i].target, {{aside, 0, 0, place.elements, true}}, {target}};
      copy.elements = place.elements;
      work_.tasks.push_back(std::move(copy));
    }
    work_.slots[target].inside = place.storage;
    work_.slots[target].offset = place.offset;
    return ok();
  }

  bool is_updated(const Access& access) const {
    return std::ranges::any_of(updated_, [&](const Place& place) {
      return place.storage == access.slot && may_overlap(access, place.offset, place.elements);
    });
  }

  Status put_output(const Output& output) {
    Access source = maker_.access(output.value);
    PlanSlot& slot = work_.slots[source.slot];
    bool own = source.whole && source.offset.is_constant(0) && slot.kind == PlanBuffer::arena &&
               !slot.inside && slot.elements == source.elements;
    if (own) {
      slot.kind = PlanBuffer::output;
      slot.name = output.name;
      return ok();
    }
    const Type& type = graph_.type(output.value);
    SlotId copy =
        work_.add_slot({PlanBuffer::output, output.name, type.dtype, element_count(type.shape)});
    return maker_.copy_to(output.value, copy);
  }

  TaskMaker& maker_;
  GraphWork& work_;
  const Graph& graph_;
  const PlanContext& context_;
  std::vector<Place> updated_;  // one per update
};

}  // namespace

Status store_results(TaskMaker& maker) { return Results(maker).run(); }

}  // namespace weft
