// Tasks in order as steps, slots as buffers with lifetimes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/plan_work.h"

namespace weft {
namespace {

class StepMaker {
 public:
  StepMaker(const GraphWork& work, const std::string& graph, ProgramTable& programs)
      : work_(work), programs_(programs) {
    plan_.graph = graph;
  }

  GraphPlan run() {
    for (const Task& task : work_.tasks) add(task, plan_.steps);
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) live(plan_.steps[i], i);
    return std::move(plan_);
  }

 private:
  void add(const Task& task, std::vector<Step>& steps) {
    if (task.kind == Step::launch) return add_launches(task, steps);
    Step step;
    step.kind = task.kind;
    step.region = task.name;
    if (task.kind == Step::copy) {
      step.elements = task.elements;
      step.buffers = {place(task.operands[0].slot, task.operands[0].offset),
                      place(task.results[0], 0)};
    } else {
      step.symbol = task.symbol;
      step.total = task.total;
      step.chunk = task.chunk;
      for (const Task& inner : task.body) add(inner, step.body);
    }
    steps.push_back(std::move(step));
  }

  void add_launches(const Task& task, std::vector<Step>& steps) {
    for (size_t p = 0; p < task.lowered.programs.size(); ++p) {
      Step step;
      programs_.add(task.lowered.programs[p], step);
      step.region = task.name;
      for (const LoweredRegion::Bound& bound : task.lowered.buffers[p]) {
        step.buffers.push_back(place_of(task, bound));
      }
      steps.push_back(std::move(step));
    }
  }

  Placement place_of(const Task& task, const LoweredRegion::Bound& bound) {
    switch (bound.kind) {
      case LoweredRegion::Bound::operand: {
        const Access& access = task.operands[bound.index];
        return place(access.slot, access.offset);
      }
      case LoweredRegion::Bound::result: return place(task.results[bound.index], 0);
      case LoweredRegion::Bound::workspace: return place(task.workspaces[bound.index], 0);
    }
    WEFT_CHECK(false, "a program's buffer is an operand, a result or a workspace");
  }

  Placement place(SlotId slot, const Dim& offset) {
    GraphWork::Home home = work_.home_of(slot);
    auto [found, fresh] = buffers_.emplace(home.root, 0);
    if (fresh) {
      const PlanSlot& root = work_.slots[home.root];
      found->second = static_cast<PlanBufferId>(plan_.buffers.size());
      plan_.buffers.push_back(
          {root.kind, root.name, root.dtype, root.elements, UINT32_MAX, 0, root.data});
    }
    return {found->second, home.offset + offset};
  }

  void live(const Step& step, uint32_t number) {
    for (const Placement& placement : step.buffers) {
      PlanBuffer& buffer = plan_.buffers[placement.buffer];
      buffer.first = std::min(buffer.first, number);
      buffer.last = std::max(buffer.last, number);
    }
    for (const Step& inner : step.body) live(inner, number);
  }

  const GraphWork& work_;
  ProgramTable& programs_;
  GraphPlan plan_;
  std::map<SlotId, PlanBufferId> buffers_;
};

}  // namespace

GraphPlan make_steps(const GraphWork& work, const std::string& graph, ProgramTable& programs) {
  return StepMaker(work, graph, programs).run();
}

}  // namespace weft
