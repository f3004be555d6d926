// The sample plan with kernels for the CPU: see tests/support/sample_plan.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runtime/context.h"
#include "tests/support/sample_plan.h"

namespace weft {

// B is at most 1000.
Executable sample_executable();
// The same with one graph, @forward.
Executable small_executable();
LoadedPtr load(Executable executable);

void sample_twice(void* const* buffers, const int64_t* args, int64_t begin, int64_t end,
                  KernelEnv* env);
void sample_add_row(void* const* buffers, const int64_t* args, int64_t begin, int64_t end,
                    KernelEnv* env);
void sample_accumulate(void* const* buffers, const int64_t* args, int64_t begin, int64_t end,
                       KernelEnv* env);
void sample_lookup(void* const* buffers, const int64_t* args, int64_t begin, int64_t end,
                   KernelEnv* env);

std::vector<std::byte> sample_code();
uint64_t sample_entry(KernelFn function);

}  // namespace weft
