// A compiled module: plan and machine code for one device, without the compiler that made it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/plan/plan.h"

namespace weft {

// A Tile program as machine code; has the number of its program in Plan::programs.
struct Kernel {
  std::string name;
  uint64_t entry = 0;     // of its function, in bytes from the start of Executable::code
  std::vector<Dim> args;  // evaluated at bind, handed to the function in this order
  Dim programs;           // size of the grid (serial axes not counted)
  Dim scratch_bytes;      // per thread
  uint32_t buffers = 0;
  std::vector<std::string> checks;  // what a failed check says: KernelFailure::check - 1 into it
};

struct TensorSlot {
  std::string name;
  Type type;
};

struct GraphInterface {
  std::string name;
  std::vector<TensorSlot> inputs;
  std::vector<TensorSlot> outputs;
};

struct Executable {
  std::string device = "cpu";
  std::string target_cpu;                    // "avx2", or the name of the host's processor
  std::vector<std::string> target_features;  // what the code needs of the machine: "avx2", "fma"
  std::string module_name;
  DimFacts dims;
  std::vector<Storage> storage;
  std::vector<GraphInterface> interfaces;  // one per graph of `graphs`, in its order
  std::vector<std::byte> code;  // position-independent: loaded anywhere, then jumped into
  std::vector<Kernel> kernels;
  std::vector<StorageBlock> blocks;
  std::vector<PackedStorage> packed;
  std::vector<GraphPlan> graphs;
};

}  // namespace weft
