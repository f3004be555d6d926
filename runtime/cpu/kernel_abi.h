// How the runtime calls generated code on the CPU. Both sides include nothing but this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

// Functions of doubles that generated code calls for f64; f32 has vector code of its own, but for
// fmod.
struct MathTable {
  double (*exp)(double);
  double (*log)(double);
  double (*tanh)(double);
  double (*erf)(double);
  double (*sin)(double);
  double (*cos)(double);
  double (*pow)(double, double);
  double (*fmod)(double, double);
};

inline constexpr int64_t kKeptWords = 64;

// The first check that failed.
struct KernelFailure {
  int64_t check = 0;  // 0: none; else its number from 1, see Kernel::checks
  int64_t value = 0;  // the index that was out of range
  int64_t limit = 0;  // what it should have been below
};

// One per thread.
struct KernelEnv {
  void* scratch = nullptr;  // Kernel::scratch_bytes, aligned to kScratchAlignment
  const MathTable* math = nullptr;
  KernelFailure failed;
  // A launch calls the code several times on each thread. What it notes in `kept` and in scratch
  // for its next call, such as what it has copied there, is good as long as `launch` is the same.
  int64_t launch = 1;
  int64_t kept[kKeptWords] = {};
};

inline constexpr int64_t kScratchAlignment = 64;

// Runs programs begin .. end-1 of the grid. `buffers` has the address of each buffer's first
// element, `args` the kernel's numbers.
using KernelFn = void (*)(void* const* buffers, const int64_t* args, int64_t begin, int64_t end,
                          KernelEnv* env);

}  // namespace weft
