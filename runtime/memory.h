// Memory of a context: large pieces from the system, and where buffers lie in the arena.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace weft {

inline constexpr int64_t kBufferAlignment = 64;  // a cache line, and the widest vector
inline constexpr int64_t kHugePage = int64_t{2} << 20;

// `bytes` rounded up to a multiple of `alignment`. Needs bytes >= 0 and room in 64 bits.
int64_t aligned(int64_t bytes, int64_t alignment = kBufferAlignment);

// Zero-filled memory from the system, aligned to pages; from kHugePage bytes on in huge pages,
// where it gives them.
class Memory {
 public:
  Memory() = default;
  // Fails if the machine does not have so much. `what` names it: "arena".
  static Result<Memory> allocate(int64_t bytes, const std::string& what);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  // The whole pages among these bytes of a memory go back to the system; they are zeros when they
  // are next touched, and what was in them is lost.
  static void give_back(std::byte* data, int64_t bytes);

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A buffer of the arena: alive from step `first` to step `last`, inclusive.
struct Lifetime {
  int64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct ArenaLayout {
  std::vector<int64_t> offsets;  // one per lifetime, multiples of the alignment
  int64_t bytes = 0;             // the peak
};

// Buffers that are alive at the same step do not overlap. The same for the same lifetimes. Fails if
// the sum of sizes exceeds 64 bits.
Result<ArenaLayout> lay_out(std::span<const Lifetime> lifetimes,
                            int64_t alignment = kBufferAlignment);

// The bytes alive at the busiest step, each buffer rounded up: no layout takes less.
int64_t least_bytes(std::span<const Lifetime> lifetimes, int64_t alignment = kBufferAlignment);

}  // namespace weft
