// The plan of a hand-made module that uses every kind of buffer and step; each device has its own
// kernels for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/context.h"

namespace weft {

// The numbers of its kernels.
enum SampleKernel : uint32_t { kTwice, kAddRow, kAccumulate, kLookup, kTwiceChunk, kKeep };

// Name, symbolic dim B, between 1 and `most`; parameter w: f32[3] of ones; states n: f32[2] (zeros)
// and m: f32[3] (normal), in one block; state cache: f32[B, 3].
void add_sample_storage(Executable& executable, int64_t most);
//   @forward(x: f32[B, 3]) -> (y: f32[B, 3])       y = 4 x + w
//   @count() -> (n: f32[2])                        the block += 1, 2, 3, 4, 5; n
//   @lookup(index: i32[B], table: f32[5, 3]) -> (rows: f32[B, 3])     2 table[index]
//   @chunks(x: f32[B, 3]) -> (y: f32[B, 3])        y = 4 x, 4 rows at a time
//   @keep(x: f32[B, 3]) -> ()                      cache += x
void add_sample_graphs(Executable& executable);
void add_sample_forward(Executable& executable);  // only @forward

// Parts of a plan, for more graphs.
PlanBuffer plan_buffer(PlanBuffer::Kind kind, const std::string& name, Dim elements,
                       uint32_t first = 0, uint32_t last = 0);
Step plan_launch(uint32_t program, std::vector<Placement> buffers, const std::string& region);

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
