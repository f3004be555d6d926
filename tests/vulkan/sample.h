// A hand-made executable for Vulkan that uses every kind of buffer, view and step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/context.h"

namespace weft {

// The numbers of its kernels.
enum VulkanSampleKernel : uint32_t {
  kTwice,
  kAddRow,
  kAccumulate,
  kLookup,
  kTwiceChunk,
  kKeep,
  kWide
};

// Symbolic dims B and N; parameter w: f32[3] of ones; states n: f32[2] (zeros) and m: f32[3]
// (normal), in one block; state cache: f32[B, 3].
//   @forward(x: f32[B, 3]) -> (y: f32[B, 3])       y = 4 x + w
//   @count() -> (n: f32[2])                        the block += 1, 2, 3, 4, 5; n
//   @lookup(index: i32[B], table: f32[5, 3]) -> (rows: f32[B, 3])     2 table[index]
//   @chunks(x: f32[B, 3]) -> (y: f32[B, 3])        y = 4 x, 4 rows at a time
//   @keep(x: f32[B, 3]) -> ()                      cache += x
//   @wide(x: f32[N]) -> (y: f32[N])                y = x + 1
Executable vulkan_sample();
LoadedPtr load_sample(Executable executable);

template <class T>
ConstBytes bytes_of(const std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}
template <class T>
MutableBytes room_in(std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}

}  // namespace weft
