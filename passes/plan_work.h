// A plan under construction: what the files plan*.cc hand to each other, in their order of work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/plan/plan.h"
#include "passes/lower.h"

namespace weft {

using SlotId = uint32_t;
using TaskId = uint32_t;

// A piece of memory: a value's, or a workspace. It becomes a buffer of the plan, or a part of one.
struct PlanSlot {
  PlanBuffer::Kind kind = PlanBuffer::arena;
  std::string name;
  DType dtype = DType::f32;
  Dim elements;
  std::vector<std::byte> data = {};  // constant

  // Lies in another slot, `offset` elements from its start: a part of a pack, the new value of a
  // storage, a result that takes the place of an operand.
  std::optional<SlotId> inside = {};
  Dim offset = 0;
  std::vector<SlotId> parts = {};  // of a pack: who reads it needs them all
};

// What a task reads: the elements from `from` on belong to the value, the program's buffer begins
// at `offset` (a view may begin in the middle).
struct Access {
  SlotId slot = 0;
  Dim offset;
  Dim from;
  Dim elements;
  bool whole = false;  // the view is all of the value, in its order
};

// A region, a copy or a repeat: one or more steps of the plan.
struct Task {
  Step::Kind kind = Step::launch;
  std::string name;
  std::vector<Access> operands;  // of a repeat: all that its body reads from outside
  std::vector<SlotId> results;
  LoweredRegion lowered = {};           // launch
  std::vector<SlotId> workspaces = {};  // launch
  Dim elements = 0;                     // copy: operands[0] to results[0]
  std::string symbol = {};              // repeat
  Dim total = 0;
  int64_t chunk = 0;
  std::vector<Task> body = {};
};

// Where a storage lies.
struct StorageHome {
  std::string name;  // its own, or its block's
  Dim offset = 0;
  Dim elements;  // of all that has this name
};

// What is the same for every graph of a module.
struct PlanContext {
  const Module& module;
  const DeviceTraits& device;
  std::map<std::string, StorageHome> homes;
  std::vector<StorageBlock> blocks;
};

struct GraphWork {
  std::vector<PlanSlot> slots;
  std::vector<Task> tasks;
  std::map<std::string, SlotId> storage = {};  // by the home's name

  SlotId add_slot(PlanSlot slot);
  SlotId storage_slot(const StorageHome& home, DType dtype);

  struct Home {
    SlotId root = 0;
    Dim offset;
  };
  Home home_of(SlotId slot) const;  // follows PlanSlot::inside
};

// Where a value of a graph lies.
struct Located {
  SlotId slot = 0;
  Dim offset;
};

// plan_blocks.cc: storage that packs want side by side.
void choose_blocks(PlanContext& context);

// plan_tasks.cc: tasks for the nodes of a graph, in its order.
class TaskMaker {
 public:
  // Of a body: its inputs lie where `inputs` says. Tasks go to `tasks`.
  TaskMaker(const PlanContext& context, const Graph& graph, GraphWork& work,
            std::vector<Task>& tasks, std::vector<Located> inputs = {});

  Status make_tasks();

  Access access(Value value) const;
  // Where the memory of the value that `value` is a view of lies.
  const Located& located(Value base) const { return located_.at(base); }
  // Appends a task that writes the value's elements, in order, to a slot.
  Status copy_to(Value value, SlotId target);
  // Appends a task for a region that is not in the graph (plan_regions.cc).
  void launch(LoweredRegion lowered, std::string name, std::vector<Access> operands,
              std::vector<SlotId> results);

  const PlanContext& context() const { return context_; }
  const Graph& graph() const { return graph_; }
  GraphWork& work() { return work_; }
  const std::string& name(Value value) const { return names_[value.node][value.result]; }

 private:
  Status visit(uint32_t node);
  Status run_region(uint32_t node);
  Status run_alone(uint32_t node);
  Status run_chunked(uint32_t node);
  Status pack(uint32_t node);
  bool place_in_block(uint32_t node);
  bool may_move(Value operand) const;
  SlotId result_slot(Value value);

  const PlanContext& context_;
  const Graph& graph_;
  GraphWork& work_;
  std::vector<Task>& tasks_;
  std::vector<Located> inputs_;
  std::map<Value, Located> located_;
  std::vector<std::vector<std::string>> names_;
};

// plan_chunked.cc: the repeat of a `chunked` node, as the last of `tasks`.
struct ChunkedOperands {
  std::vector<Access> accesses;  // whole and contiguous
  std::vector<SlotId> results;
};
Status make_repeat(TaskMaker& maker, const Node& node, const ChunkedOperands& memory,
                   std::vector<Task>& tasks);

// plan_regions.cc: regions that fusion did not make.
Result<LoweredRegion> lower_alone(const PlanContext& context, const Graph& graph, uint32_t node);
Result<LoweredRegion> lower_copy(const PlanContext& context, const Graph& graph, Value value,
                                 Value base);
Result<LoweredRegion> lower_fill(const PlanContext& context, const Type& type);
// Adds operand 0 to result 0, which is also what it adds to.
Result<LoweredRegion> lower_add(const PlanContext& context, const Type& type);

// plan_reuse.cc: makes `result` lie where `operands`, all the same memory, lie: drops or rewrites
// programs. False if that would change what is computed; then nothing was done.
bool run_in_place(LoweredRegion& lowered, const std::vector<uint32_t>& operands, uint32_t result);
// Results take the memory of operands that nobody needs any more. `tasks` are in their final order;
// slots before `first` belong to somebody else.
void reuse_operands(GraphWork& work, std::vector<Task>& tasks, SlotId first);

// plan_results.cc: the graph's updates and outputs.
Status store_results(TaskMaker& maker);

// plan_order.cc. Which tasks follow directly from which: by what they read, and by what they
// overwrite.
std::vector<std::vector<TaskId>> successors(const GraphWork& work);
bool reaches(const std::vector<std::vector<TaskId>>& edges, TaskId from, TaskId to);
bool may_overlap(const Access& access, const Dim& from, const Dim& elements);
void order_tasks(GraphWork& work, const DimFacts& facts);

// plan_share.cc: programs that are equal but for names, symbols of sizes and random streams are
// kept once.
class ProgramTable {
 public:
  // Sets `program` and `symbols` of a launch.
  void add(tile::Program program, Step& launch);
  std::vector<tile::Program> take();

 private:
  struct Entry {
    tile::Program program;
    std::vector<std::string> symbols;  // in the order of their canonical names
  };
  std::vector<Entry> entries_;
  std::map<std::string, uint32_t> by_key_;
  std::map<std::string, uint32_t> names_;
};

// plan_steps.cc
GraphPlan make_steps(const GraphWork& work, const std::string& graph, ProgramTable& programs);

}  // namespace weft
