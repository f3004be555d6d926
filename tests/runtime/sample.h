// A hand-made executable that uses every kind of buffer and step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/context.h"

namespace weft {

// The numbers of its kernels.
enum SampleKernel : uint32_t { kTwice, kAddRow, kAccumulate, kLookup, kTwiceChunk, kKeep };

// Symbolic dim B, between 1 and 1000; parameter w: f32[3] of ones; states n: f32[2] (zeros) and
// m: f32[3] (normal), in one block; state cache: f32[B, 3].
//   @forward(x: f32[B, 3]) -> (y: f32[B, 3])       y = 4 x + w
//   @count() -> (n: f32[2])                        the block += 1, 2, 3, 4, 5; n
//   @lookup(index: i32[B], table: f32[5, 3]) -> (rows: f32[B, 3])     2 table[index]
//   @chunks(x: f32[B, 3]) -> (y: f32[B, 3])        y = 4 x, 4 rows at a time
//   @keep(x: f32[B, 3]) -> ()                      cache += x
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

// Bytes of elements, one after the other.
template <class T>
ConstBytes bytes_of(const std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}
template <class T>
MutableBytes room_in(std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}

}  // namespace weft
