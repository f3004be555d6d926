// Places in a block of memory: given out, taken back. Numbers only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace weft {

// The smallest gap that fits is taken; gaps that touch become one.
class Suballocator {
 public:
  explicit Suballocator(int64_t bytes);

  // The offset of `bytes` > 0 bytes, a multiple of `alignment`; nothing if no gap is large enough.
  std::optional<int64_t> allocate(int64_t bytes, int64_t alignment);
  // Of one that was given out.
  void free(int64_t offset);

  int64_t bytes() const { return bytes_; }
  int64_t used() const { return used_; }
  int64_t largest_gap() const;

 private:
  int64_t bytes_;
  int64_t used_ = 0;
  std::map<int64_t, int64_t> gaps_;   // bytes by offset
  std::map<int64_t, int64_t> taken_;  // bytes by offset
};

}  // namespace weft
