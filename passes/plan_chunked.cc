// A `chunked` node as a repeat: its body's tasks on slices of what lies outside.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/tile/in_place.h"
#include "passes/plan_work.h"
#include "passes/views.h"

namespace weft {
namespace {

Dim row_elements(const Type& type) {
  Dim count = 1;
  for (size_t i = 1; i < type.shape.size(); ++i) count = count * type.shape[i];
  return count;
}

// How often the tasks of a body read a slot.
int64_t count_reads(const std::vector<Task>& tasks, SlotId slot) {
  int64_t count = 0;
  for (const Task& task : tasks) {
    count += std::ranges::count(task.operands, slot, &Access::slot);
  }
  return count;
}

class Repeat {
 public:
  Repeat(TaskMaker& outer, const Node& node, const ChunkedOperands& memory)
      : outer_(outer), work_(outer.work()), node_(node), memory_(memory) {
    task_.kind = Step::repeat;
    task_.symbol = node.attrs.text("symbol");
    task_.total = node.attrs.dim("rows");
    task_.chunk = node.attrs.integer("chunk");
    base_ = Dim::symbol(base_symbol(task_.symbol));
  }

  // Returns the repeat; what has to run before it goes to `tasks`.
  Result<Task> make() {
    const Graph& body = *node_.body;
    auto first = static_cast<SlotId>(work_.slots.size());
    TaskMaker maker(outer_.context(), body, work_, task_.body, body_inputs());
    WEFT_TRY_STATUS(maker.make_tasks());
    for (uint32_t i = 0; i < body.outputs.size(); ++i) {
      if (node_.attrs.ints("sliced_out")[i] != 0) {
        WEFT_TRY_STATUS(put_rows(maker, i));
      } else {
        WEFT_TRY_STATUS(add_up(maker, i));
      }
    }
    reuse_operands(work_, task_.body, first);
    task_.operands.insert(task_.operands.end(), memory_.accesses.begin(), memory_.accesses.end());
    task_.results = memory_.results;
    return std::move(task_);
  }

 private:
  std::vector<Located> body_inputs() const {
    std::vector<Located> inputs;
    for (size_t i = 0; i < memory_.accesses.size(); ++i) {
      const Access& place = memory_.accesses[i];
      const Type& type = outer_.graph().type(node_.operands[i]);
      Dim skipped = node_.attrs.ints("sliced_in")[i] != 0 ? base_ * row_elements(type) : Dim(0);
      inputs.push_back({place.slot, place.offset + skipped});
    }
    return inputs;
  }

  // The slot of a body's output that may be laid where one likes: computed here, all of it, and
  // neither taken by another result nor inside a pack.
  std::optional<SlotId> movable(const TaskMaker& maker, Value value) const {
    Access place = maker.access(value);
    const PlanSlot& slot = work_.slots[place.slot];
    bool computed = std::ranges::any_of(task_.body, [&](const Task& task) {
      return std::ranges::count(task.results, place.slot) > 0;
    });
    if (!computed || !place.whole || slot.inside || !place.offset.is_constant(0)) return {};
    return place.slot;
  }

  Status put_rows(TaskMaker& maker, uint32_t i) {
    Value value = node_.body->outputs[i].value;
    std::optional<SlotId> rows = movable(maker, value);
    if (!rows) {
      const Type& type = node_.body->type(value);
      rows = work_.add_slot(
          {PlanBuffer::arena, maker.name(value), type.dtype, element_count(type.shape)});
      WEFT_TRY_STATUS(maker.copy_to(value, *rows));
    }
    work_.slots[*rows].inside = memory_.results[i];
    work_.slots[*rows].offset = base_ * row_elements(node_.types[i]);
    return ok();
  }

  Status add_up(TaskMaker& maker, uint32_t i) {
    const Type& type = node_.types[i];
    SlotId total = memory_.results[i];
    Access whole{total, 0, 0, element_count(type.shape), true};
    WEFT_TRY(LoweredRegion zeros, lower_fill(outer_.context(), type));
    outer_.launch(std::move(zeros), work_.slots[total].name, {}, {total});
    task_.operands.push_back(whole);

    Value value = node_.body->outputs[i].value;
    std::optional<SlotId> partial = movable(maker, value);
    if (partial && add_directly(*partial)) {
      work_.slots[*partial].inside = total;
      return ok();
    }
    if (!partial) {
      partial = work_.add_slot(
          {PlanBuffer::arena, maker.name(value), type.dtype, element_count(type.shape)});
      WEFT_TRY_STATUS(maker.copy_to(value, *partial));
    }
    WEFT_TRY(LoweredRegion sum, lower_add(outer_.context(), type));
    Access part{*partial, 0, 0, whole.elements, true};
    maker.launch(std::move(sum), maker.name(value), {part, whole}, {total});
    return ok();
  }

  // The program that computes the partial sum adds it to the total instead of storing it, unless
  // somebody else reads it.
  bool add_directly(SlotId partial) {
    if (count_reads(task_.body, partial) > 0) return false;
    for (Task& task : task_.body) {
      auto result = std::ranges::find(task.results, partial);
      if (result == task.results.end()) continue;
      if (task.kind != Step::launch) return false;
      auto index = static_cast<uint32_t>(result - task.results.begin());
      return make_adding(task.lowered, index);
    }
    return false;
  }

  static bool make_adding(LoweredRegion& lowered, uint32_t result) {
    std::optional<size_t> writer;
    uint32_t buffer = 0;
    for (size_t p = 0; p < lowered.programs.size(); ++p) {
      for (uint32_t b = 0; b < lowered.buffers[p].size(); ++b) {
        const LoweredRegion::Bound& bound = lowered.buffers[p][b];
        if (bound.kind != LoweredRegion::Bound::result || bound.index != result) continue;
        if (writer) return false;
        writer = p;
        buffer = b;
      }
    }
    if (!writer) return false;
    auto adding = tile::adding_to(lowered.programs[*writer], buffer);
    if (adding) lowered.programs[*writer] = std::move(*adding);
    return adding.has_value();
  }

  TaskMaker& outer_;
  GraphWork& work_;
  const Node& node_;
  const ChunkedOperands& memory_;
  Task task_;
  Dim base_;
};

}  // namespace

Status make_repeat(TaskMaker& maker, const Node& node, const ChunkedOperands& memory,
                   std::vector<Task>& tasks) {
  WEFT_TRY(Task repeat, Repeat(maker, node, memory).make());
  repeat.name = maker.work().slots[memory.results[0]].name;
  tasks.push_back(std::move(repeat));
  return ok();
}

}  // namespace weft
