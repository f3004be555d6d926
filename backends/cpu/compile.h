// The CPU backend: Tile programs to machine code through LLVM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cpu/target.h"
#include "ir/support/result.h"
#include "ir/tile/program.h"
#include "runtime/executable.h"

namespace weft::cpu {

struct CompileOptions {
  bool bounds_checks =
      false;               // every access of generated code is checked against its buffer's dims
  bool keep_text = false;  // fill in `texts`
  // Where code is kept from one process to the next (code_cache.h). Empty: nowhere. Not used with
  // keep_text, since LLVM has to say something then.
  std::string cache_folder = {};
};

// What the compiler saw and made of one program, for dumps.
struct KernelText {
  std::string name;
  std::string tile;  // Tile IR with the knobs and the layout that were chosen
  std::string llvm;
  std::string assembly;
};

struct CompiledPrograms {
  std::vector<std::byte> code;
  std::vector<Kernel> kernels;  // one per program, in order
  std::vector<KernelText> texts;
  size_t cached = 0;          // so many of the kernels came from the cache
  std::string cache_problem;  // why the cache was not used, or not filled
};

// Compiles programs without `accumulate` statements (ir/tile/expand.h has made them into two).
Result<CompiledPrograms> compile_programs(const std::vector<tile::Program>& programs,
                                          const CpuTarget& target, const CompileOptions& options);

}  // namespace weft::cpu
