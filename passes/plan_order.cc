// The order of tasks: what is read was written before, what is overwritten was read before.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "passes/plan_work.h"

namespace weft {
namespace {

// Who writes a slot's elements, parts of packs included.
class Writers {
 public:
  explicit Writers(const GraphWork& work) : work_(work), by_slot_(work.slots.size()) {
    for (TaskId task = 0; task < work.tasks.size(); ++task) {
      for (SlotId slot : work.tasks[task].results) by_slot_[slot].push_back(task);
    }
  }

  void collect(SlotId slot, std::vector<TaskId>& into) const {
    into.insert(into.end(), by_slot_[slot].begin(), by_slot_[slot].end());
    for (SlotId part : work_.slots[slot].parts) collect(part, into);
  }

 private:
  const GraphWork& work_;
  std::vector<std::vector<TaskId>> by_slot_;
};

// Readers of a storage's old value come before the task that writes the new one.
void add_overwrites(const GraphWork& work, std::vector<std::vector<TaskId>>& edges) {
  std::vector<std::vector<std::pair<TaskId, const Access*>>> readers(work.slots.size());
  for (TaskId task = 0; task < work.tasks.size(); ++task) {
    for (const Access& access : work.tasks[task].operands) {
      if (work.slots[access.slot].kind == PlanBuffer::storage) {
        readers[access.slot].push_back({task, &access});
      }
    }
  }
  for (TaskId writer = 0; writer < work.tasks.size(); ++writer) {
    for (SlotId slot : work.tasks[writer].results) {
      GraphWork::Home home = work.home_of(slot);
      if (home.root == slot) continue;
      for (const auto& [reader, access] : readers[home.root]) {
        if (reader == writer) continue;
        if (may_overlap(*access, home.offset, work.slots[slot].elements)) {
          edges[reader].push_back(writer);
        }
      }
    }
  }
}

}  // namespace

bool may_overlap(const Access& access, const Dim& from, const Dim& elements) {
  Dim end = from + elements;
  Dim access_end = access.from + access.elements;
  bool known = access.from.is_constant() && access_end.is_constant() && from.is_constant() &&
               end.is_constant();
  return !known ||
         (access.from.constant() < end.constant() && from.constant() < access_end.constant());
}

std::vector<std::vector<TaskId>> successors(const GraphWork& work) {
  Writers writers(work);
  std::vector<std::vector<TaskId>> edges(work.tasks.size());
  for (TaskId task = 0; task < work.tasks.size(); ++task) {
    std::vector<TaskId> before;
    for (const Access& access : work.tasks[task].operands) writers.collect(access.slot, before);
    for (TaskId writer : before) {
      if (writer != task) edges[writer].push_back(task);
    }
  }
  add_overwrites(work, edges);
  for (std::vector<TaskId>& list : edges) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return edges;
}

bool reaches(const std::vector<std::vector<TaskId>>& edges, TaskId from, TaskId to) {
  std::vector<bool> seen(edges.size());
  std::vector<TaskId> open = {from};
  while (!open.empty()) {
    TaskId task = open.back();
    open.pop_back();
    if (task == to) return true;
    if (seen[task]) continue;
    seen[task] = true;
    open.insert(open.end(), edges[task].begin(), edges[task].end());
  }
  return false;
}

namespace {

// The arena at sizes that stand for all: by which one order of tasks is better than another.
class ArenaModel {
 public:
  ArenaModel(const GraphWork& work, const DimFacts& facts) : bytes_(work.slots.size()) {
    for (const PlanSlot& slot : work.slots) collect(slot.elements, facts);
    for (size_t i = 0; i < work.slots.size(); ++i) {
      const PlanSlot& slot = work.slots[i];
      if (slot.kind != PlanBuffer::arena || slot.inside) continue;
      bytes_[i] = slot.elements.evaluate(sizes_).value_or(0) * byte_size(slot.dtype);
    }
    for (const Task& task : work.tasks) {
      std::vector<SlotId> roots;
      for (const Access& access : task.operands) roots.push_back(work.home_of(access.slot).root);
      for (SlotId slot : task.results) roots.push_back(work.home_of(slot).root);
      std::ranges::sort(roots);
      roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
      int64_t own = 0;
      for (SlotId slot : task.workspaces) own += bytes_[slot];
      for (const Task& inner : task.body) own += inner_bytes(inner);
      touched_.push_back(std::move(roots));
      own_.push_back(own);
    }
  }

  // Starts a walk through the tasks.
  void begin() {
    uses_.assign(bytes_.size(), 0);
    alive_.assign(bytes_.size(), false);
    for (const std::vector<SlotId>& roots : touched_) {
      for (SlotId root : roots) ++uses_[root];
    }
    live_ = peak_ = 0;
  }
  // How much more is alive after the task than before it.
  int64_t growth(TaskId task) const {
    int64_t sum = 0;
    for (SlotId root : touched_[task]) {
      if (!alive_[root]) sum += bytes_[root];
      if (uses_[root] == 1) sum -= bytes_[root];
    }
    return sum;
  }
  void run(TaskId task) {
    for (SlotId root : touched_[task]) {
      if (!alive_[root]) live_ += bytes_[root];
      alive_[root] = true;
    }
    peak_ = std::max(peak_, live_ + own_[task]);
    for (SlotId root : touched_[task]) {
      if (--uses_[root] == 0) live_ -= bytes_[root];
    }
  }
  int64_t peak() const { return peak_; }

 private:
  static constexpr int64_t kUsualSize = 64;

  void collect(const Dim& dim, const DimFacts& facts) {
    std::set<std::string> symbols;
    dim.collect_symbols(symbols);
    for (const std::string& symbol : symbols) {
      DimFacts::Bounds bounds = facts.bounds_of(Dim::symbol(symbol));
      sizes_.emplace(symbol, std::clamp(kUsualSize, bounds.low, bounds.high));
    }
  }

  int64_t inner_bytes(const Task& task) const {
    int64_t sum = 0;
    for (SlotId slot : task.results) sum += bytes_[slot];
    for (SlotId slot : task.workspaces) sum += bytes_[slot];
    return sum;
  }

  DimBinding sizes_;
  std::vector<int64_t> bytes_;                // by slot; 0 for what is not a root of the arena
  std::vector<std::vector<SlotId>> touched_;  // by task
  std::vector<int64_t> own_;                  // by task: alive only in it
  std::vector<uint32_t> uses_;
  std::vector<bool> alive_;
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

// In the order given, as far as `edges` allow; with `eager`, what frees memory goes first.
std::vector<TaskId> topological(const std::vector<std::vector<TaskId>>& edges, ArenaModel& memory,
                                bool eager) {
  std::vector<uint32_t> missing(edges.size());
  for (const std::vector<TaskId>& list : edges) {
    for (TaskId task : list) ++missing[task];
  }
  std::set<TaskId> ready;
  for (TaskId task = 0; task < edges.size(); ++task) {
    if (missing[task] == 0) ready.insert(task);
  }
  std::vector<TaskId> order;
  memory.begin();
  while (!ready.empty()) {
    TaskId next = *ready.begin();
    int64_t least = 0;
    for (TaskId task : ready) {
      int64_t growth = eager ? memory.growth(task) : 0;
      if (growth >= least) continue;
      least = growth;
      next = task;
    }
    ready.erase(next);
    memory.run(next);
    order.push_back(next);
    for (TaskId task : edges[next]) {
      if (--missing[task] == 0) ready.insert(task);
    }
  }
  WEFT_CHECK(order.size() == edges.size(), "tasks of a plan have an order");
  return order;
}

}  // namespace

void order_tasks(GraphWork& work, const DimFacts& facts) {
  std::vector<std::vector<TaskId>> edges = successors(work);
  ArenaModel memory(work, facts);
  std::vector<TaskId> order = topological(edges, memory, false);
  int64_t as_given = memory.peak();
  std::vector<TaskId> eager = topological(edges, memory, true);
  if (memory.peak() < as_given) order = std::move(eager);
  std::vector<Task> ordered;
  for (TaskId task : order) ordered.push_back(std::move(work.tasks[task]));
  work.tasks = std::move(ordered);
}

}  // namespace weft
