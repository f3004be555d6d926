// Results in the memory of operands that die, so that elementwise work needs no memory of its own.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "ir/tile/in_place.h"
#include "passes/plan_work.h"

namespace weft {
namespace {

using Bound = LoweredRegion::Bound;

bool binds(const std::vector<Bound>& buffers, Bound::Kind kind, uint32_t index) {
  return std::ranges::any_of(buffers,
                             [&](const Bound& b) { return b.kind == kind && b.index == index; });
}

bool binds_any(const std::vector<Bound>& buffers, const std::vector<uint32_t>& operands) {
  return std::ranges::any_of(
      operands, [&](uint32_t operand) { return binds(buffers, Bound::operand, operand); });
}

// Reads the operands from the result's buffer in one program.
bool merge_buffers(tile::Program& program, std::vector<Bound>& buffers,
                   const std::vector<uint32_t>& operands, uint32_t result) {
  auto find = [&](auto wanted) {
    return static_cast<uint32_t>(std::ranges::find_if(buffers, wanted) - buffers.begin());
  };
  auto is_result = [&](const Bound& b) { return b.kind == Bound::result && b.index == result; };
  auto is_operand = [&](const Bound& b) {
    return b.kind == Bound::operand && std::ranges::count(operands, b.index) > 0;
  };
  if (program.buffers[find(is_result)].mode != tile::Buffer::out) return false;
  for (uint32_t in = find(is_operand); in < buffers.size(); in = find(is_operand)) {
    auto merged = tile::in_place(program, in, find(is_result));
    if (!merged) return false;
    program = std::move(*merged);
    buffers.erase(buffers.begin() + in);
  }
  return true;
}

void find_carried_axes(const tile::Program& program, const tile::Block& block,
                       std::set<tile::AxisId>& axes) {
  for (const tile::Stmt& stmt : block) {
    for (tile::ValueId id : stmt.carried) {
      axes.insert(program.values[id].axes.begin(), program.values[id].axes.end());
    }
    find_carried_axes(program, stmt.body, axes);
  }
}

// Whether a device may read rows again after it has written parts of them: what a loop carries has
// no room in registers if it is as long as a row of a length that is not known, and is then
// computed a part after the other, with the sums of a row summed up for each.
bool may_walk_rows_again(const tile::Program& program) {
  std::set<tile::AxisId> carried;
  find_carried_axes(program, program.body, carried);
  return std::ranges::any_of(program.values, [&](const tile::Value& value) {
    return value.kind == tile::Value::reduce &&
           std::ranges::any_of(value.axes_reduced, [&](tile::AxisId axis) {
             return carried.contains(axis) && !program.axes[axis].dim.is_constant();
           });
  });
}

template <class Fn>
void for_each_slot(const Task& task, Fn fn) {
  for (const Access& access : task.operands) fn(access.slot);
  for (SlotId slot : task.results) fn(slot);
}

class Reuser {
 public:
  Reuser(GraphWork& work, std::vector<Task>& tasks, SlotId first)
      : work_(work), tasks_(tasks), first_(first), last_use_(work.slots.size(), -1) {}

  void run() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      for_each_slot(tasks_[i], [&](SlotId slot) { use(slot, i); });
    }
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].kind != Step::launch) continue;
      for (uint32_t r = 0; r < tasks_[i].results.size(); ++r) place_result(i, r);
    }
  }

 private:
  void use(SlotId slot, size_t task) {
    int64_t& last = last_use_[work_.home_of(slot).root];
    last = std::max(last, static_cast<int64_t>(task));
  }

  bool free_to_move(SlotId slot) const {
    const PlanSlot& s = work_.slots[slot];
    return slot >= first_ && s.kind == PlanBuffer::arena && !s.inside && s.parts.empty();
  }

  void place_result(size_t i, uint32_t r) {
    Task& task = tasks_[i];
    SlotId result = task.results[r];
    if (!free_to_move(result) || std::ranges::count(task.results, result) > 1) return;
    for (const Access& candidate : task.operands) {
      GraphWork::Home home = work_.home_of(candidate.slot);
      if (!dies_at(home.root, i) || !fits(candidate, home, result)) continue;
      std::vector<uint32_t> sharing;
      for (uint32_t k = 0; k < task.operands.size(); ++k) {
        if (work_.home_of(task.operands[k].slot).root == home.root) sharing.push_back(k);
      }
      bool aligned = std::ranges::all_of(sharing, [&](uint32_t k) {
        return task.operands[k].offset == candidate.offset &&
               work_.home_of(task.operands[k].slot).offset == home.offset;
      });
      if (!aligned || !run_in_place(task.lowered, sharing, r)) continue;
      work_.slots[result].inside = home.root;
      last_use_[home.root] = std::max(last_use_[home.root], last_use_[result]);
      return;
    }
  }

  // Nobody uses the memory after task i, and no other result of it went there.
  bool dies_at(SlotId root, size_t i) const {
    if (root < first_ || work_.slots[root].kind != PlanBuffer::arena) return false;
    if (last_use_[root] != static_cast<int64_t>(i)) return false;
    return std::ranges::none_of(tasks_[i].results,
                                [&](SlotId other) { return work_.home_of(other).root == root; });
  }

  bool fits(const Access& operand, const GraphWork::Home& home, SlotId result) const {
    const PlanSlot& memory = work_.slots[home.root];
    const PlanSlot& wanted = work_.slots[result];
    return operand.whole && home.offset.is_constant(0) && operand.offset.is_constant(0) &&
           memory.dtype == wanted.dtype && memory.elements == wanted.elements;
  }

  GraphWork& work_;
  std::vector<Task>& tasks_;
  SlotId first_;
  std::vector<int64_t> last_use_;  // by root: number of the task, -1 if none
};

}  // namespace

bool run_in_place(LoweredRegion& lowered, const std::vector<uint32_t>& operands, uint32_t result) {
  size_t first = 0;
  while (first < lowered.programs.size() && !binds(lowered.buffers[first], Bound::result, result)) {
    ++first;
  }
  if (first == lowered.programs.size()) return false;
  for (size_t later = first + 1; later < lowered.programs.size(); ++later) {
    if (binds_any(lowered.buffers[later], operands)) return false;
  }
  if (may_walk_rows_again(lowered.programs[first])) return false;
  tile::Program program = lowered.programs[first];
  std::vector<Bound> buffers = lowered.buffers[first];
  if (!merge_buffers(program, buffers, operands, result)) return false;
  if (tile::does_nothing(program) && lowered.programs.size() > 1) {  // a scatter's copy
    lowered.programs.erase(lowered.programs.begin() + static_cast<std::ptrdiff_t>(first));
    lowered.buffers.erase(lowered.buffers.begin() + static_cast<std::ptrdiff_t>(first));
    return true;
  }
  lowered.programs[first] = std::move(program);
  lowered.buffers[first] = std::move(buffers);
  return true;
}

void reuse_operands(GraphWork& work, std::vector<Task>& tasks, SlotId first) {
  Reuser(work, tasks, first).run();
}

}  // namespace weft
