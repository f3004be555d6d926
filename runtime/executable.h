// A compiled module: plan and machine code for one device, without the compiler that made it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph/module.h"
#include "ir/plan/plan.h"

namespace weft {

// How a kernel of a SIMT device sees one of its program's buffers. A buffer may be bound in several
// ways; binding i of set 0 is binding i of the kernel.
struct Binding {
  enum class View : uint8_t {
    storage,  // a storage buffer
    texel,    // a uniform texel buffer, read only
    image,    // a storage texel buffer
  };
  using enum View;
  View view = storage;
  uint32_t buffer = 0;       // of the program
  DType dtype = DType::f32;  // of a component
  uint8_t width = 1;         // texel, image: components of a texel, 1, 2 or 4
  bool reads = false;
  bool writes = false;
  // A buffer beyond what one descriptor shows: an array of so many, which show one part of it after
  // the other, each of 2^part_bits elements (texels).
  uint32_t parts = 1;
  uint32_t part_bits = 0;
};

// What a kernel does with one of its buffers: elements 0 to `elements` - 1 from where a launch
// places it, evaluated like an argument.
struct BufferUse {
  bool writes = false;
  Dim elements;
};

// A Tile program as machine code; has the number of its program in Plan::programs.
struct Kernel {
  std::string name;
  uint64_t entry = 0;     // of its function, in bytes from the start of Executable::code
  uint64_t bytes = 0;     // of its code; 0 on devices whose code is one block
  std::vector<Dim> args;  // evaluated at bind, handed to the function in this order
  Dim programs;           // size of the grid (serial axes not counted)
  Dim scratch_bytes;      // per thread
  uint32_t buffers = 0;
  std::vector<BufferUse> uses;      // one per buffer, or none: then nothing runs beside it
  std::vector<std::string> checks;  // what a failed check says: KernelFailure::check - 1 into it

  // Of SIMT devices; `entry` and `bytes` are the words of a SPIR-V module with entry point "main".
  // One workgroup runs one program; groups beyond what a device's first grid dimension holds stand
  // in the second, so the kernel compares its number, y * (groups in x) + x, with `programs`.
  // It is given u32 numbers: the programs, then for each buffer where it begins in what its
  // descriptors show, in elements, then `args` (negative ones as two's complement); as push
  // constants, or in a uniform buffer that follows the bindings. Descriptors show a whole plan
  // buffer, rounded up to whole texels; the place of a launch in it is in the number. A member of a
  // block begins where it lies: its descriptor starts up to 255 bytes before it, at a multiple of
  // 256 bytes, and the number says so too.
  // If there are checks, the last descriptor is a storage buffer of one u32, ~0 before the launch:
  // the kernel leaves in it the least index into `checks` of one that failed.
  uint32_t workgroup = 0;  // invocations
  Dim iterations = 0;      // of all loops together, by one invocation, at most
  uint32_t subgroup = 0;   // invocations that the code relies on; 0: any number
  bool numbers_in_buffer = false;
  std::vector<Binding> bindings;
  std::vector<std::string> needs;  // features of the device that the code uses: "float16"
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
  // For SIMT devices, none or one per kernel: the same programs without anything that a device may
  // lack. A context takes them in the place of those that do not fit its device.
  std::vector<Kernel> portable;
  std::vector<StorageBlock> blocks;
  std::vector<PackedStorage> packed;
  std::vector<GraphPlan> graphs;
};

}  // namespace weft
