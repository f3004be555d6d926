// Which commands of a command buffer have to wait for those before them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Bytes of a buffer that a command reads or writes.
struct MemoryAccess {
  uint64_t buffer = 0;  // any number that tells buffers apart
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};

// A barrier orders all that was recorded before it with all that follows, so only what came since
// the last one counts.
class Hazards {
 public:
  // Notes what the next command does. True if a barrier must stand before it: it reads what was
  // written, or writes what was read or written, since the last barrier.
  bool next(std::span<const MemoryAccess> accesses);
  // A barrier stands here for another reason.
  void barrier() { pending_.clear(); }
  bool empty() const { return pending_.empty(); }

 private:
  std::vector<MemoryAccess> pending_;
};

}  // namespace weft
