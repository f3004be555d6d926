// A graph of an executable with sizes: what remains of its plan once every dim is a number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/loaded.h"

namespace weft {

// An input or output as it is at these sizes.
struct BoundTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
};

// One launch or copy. Repeats are unrolled.
struct BoundStep {
  struct Buffer {
    uint32_t buffer = 0;  // into BoundGraph::buffers
    int64_t offset = 0;   // in bytes
  };
  const Step* step = nullptr;   // of the plan
  uint32_t number = 0;          // of the plan's outermost steps, which lifetimes count
  KernelFn function = nullptr;  // of a launch on the CPU
  int64_t count = 0;            // programs of a launch, bytes of a copy
  uint32_t first_buffer = 0;    // into BoundGraph::step_buffers
  uint32_t first_arg = 0;       // into BoundGraph::args
  uint32_t first_span = 0;      // into BoundGraph::spans

  bool is_copy() const { return step->kind == Step::copy; }
};

// One per buffer of the plan.
struct BoundBuffer {
  PlanBuffer::Kind kind = PlanBuffer::arena;
  uint32_t index = 0;  // of the input, output, storage, copy or constant behind it
  int64_t offset = 0;  // in the arena
  int64_t bytes = 0;
};

// A parameter or state that the graph uses, of symbolic shape (GraphFacts has the others).
struct BoundStorage {
  uint32_t index = 0;  // into Executable::storage
  std::vector<int64_t> shape;
};

// Immutable. Does not hold memory: any context of the same executable can run it.
struct BoundGraph {
  LoadedPtr loaded;
  uint32_t graph = 0;
  DimBinding dims;
  std::vector<BoundTensor> inputs;
  std::vector<BoundTensor> outputs;
  std::vector<BoundStorage> storage;
  std::vector<uint32_t> packed;  // into Executable::packed, those that it reads
  std::vector<BoundBuffer> buffers;
  std::vector<BoundStep> steps;
  std::vector<BoundStep::Buffer> step_buffers;
  std::vector<int64_t> args;
  // Bytes of each of a launch's buffers that its kernel touches; of kernels with `uses` only.
  std::vector<int64_t> spans;
  // Steps may run side by side with those before them, back to the last one that begins a group.
  std::vector<uint32_t> groups;  // numbers of steps that begin one
  int64_t arena_bytes = 0;       // the peak of the plan: what the arena takes
  int64_t scratch_bytes = 0;     // per thread, for the kernel that needs most
  uint32_t most_buffers = 0;     // of the steps of one group

  const std::string& name() const { return loaded->executable().graphs[graph].graph; }
  const Kernel& kernel(const BoundStep& step) const {
    return loaded->executable().kernels[step.step->program];
  }
  int64_t launches() const;
};

// What a device asks of a binding.
struct BindLimits {
  int64_t alignment = 64;  // of buffers in the arena
  // Of the numbers that a kernel is given.
  int64_t least_arg = INT64_MIN;
  int64_t most_arg = INT64_MAX;
  // Of a buffer that a kernel is given.
  int64_t most_elements = INT64_MAX;
  // Of the loops of one invocation: a driver may end them then, without a word.
  int64_t most_iterations = INT64_MAX;
};

// Sizes must be within their bounds and satisfy the module's assertions; symbols that follow from
// assertions may be left out.
Result<BoundGraph> bind_graph(LoadedPtr loaded, uint32_t graph, const DimBinding& dims,
                              const BindLimits& limits = {});

}  // namespace weft
