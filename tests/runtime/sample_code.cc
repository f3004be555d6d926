// Kernels as plain functions in a section of their own, so that their bytes can be copied into an
// executable: no calls, no constants in memory, nothing that would not work elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/sample.h"

#define SAMPLE_KERNEL                                           \
  __attribute__((section("weft_sample_code"), noinline,         \
                 no_sanitize("address", "thread", "undefined"), \
                 optimize("no-tree-loop-distribute-patterns")))

namespace weft {

// out[r, :] = in[r, :] + in[r, :]; args: columns
SAMPLE_KERNEL void sample_twice(void* const* buffers, const int64_t* args, int64_t begin,
                                int64_t end, KernelEnv*) {
  const float* in = static_cast<const float*>(buffers[0]);
  float* out = static_cast<float*>(buffers[1]);
  for (int64_t i = begin * args[0]; i < end * args[0]; ++i) out[i] = in[i] + in[i];
}

// out[r, :] = in[r, :] + w[:]; args: columns
SAMPLE_KERNEL void sample_add_row(void* const* buffers, const int64_t* args, int64_t begin,
                                  int64_t end, KernelEnv*) {
  const float* in = static_cast<const float*>(buffers[0]);
  const float* w = static_cast<const float*>(buffers[1]);
  float* out = static_cast<float*>(buffers[2]);
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t c = 0; c < args[0]; ++c) out[r * args[0] + c] = in[r * args[0] + c] + w[c];
  }
}

// acc[i] += in[i], through scratch memory
SAMPLE_KERNEL void sample_accumulate(void* const* buffers, const int64_t*, int64_t begin,
                                     int64_t end, KernelEnv* env) {
  const float* in = static_cast<const float*>(buffers[0]);
  float* acc = static_cast<float*>(buffers[1]);
  volatile float* scratch = static_cast<volatile float*>(env->scratch);
  for (int64_t i = begin; i < end; ++i) {
    scratch[0] = acc[i] + in[i];
    acc[i] = scratch[0];
  }
}

// out[r, :] = 2 table[index[r], :]; args: columns, rows of the table
SAMPLE_KERNEL void sample_lookup(void* const* buffers, const int64_t* args, int64_t begin,
                                 int64_t end, KernelEnv* env) {
  const int32_t* index = static_cast<const int32_t*>(buffers[0]);
  const float* table = static_cast<const float*>(buffers[1]);
  float* out = static_cast<float*>(buffers[2]);
  for (int64_t r = begin; r < end; ++r) {
    int64_t from = index[r];
    if (from < 0 || from >= args[1]) {
      if (env->failed.check == 0) {
        env->failed.check = 1;
        env->failed.value = from;
        env->failed.limit = args[1];
      }
      return;
    }
    for (int64_t c = 0; c < args[0]; ++c) {
      out[r * args[0] + c] = table[from * args[0] + c] + table[from * args[0] + c];
    }
  }
}

// The linker's names for the bounds of a section.
extern const std::byte kSampleCodeStart[] asm("__start_weft_sample_code");
extern const std::byte kSampleCodeStop[] asm("__stop_weft_sample_code");

std::vector<std::byte> sample_code() { return {kSampleCodeStart, kSampleCodeStop}; }

uint64_t sample_entry(KernelFn function) {
  return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(function) - kSampleCodeStart);
}

}  // namespace weft
