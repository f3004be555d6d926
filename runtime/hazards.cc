// SPDX-License-Identifier: Apache-2.0
#include "runtime/hazards.h"

#include <algorithm>

namespace weft {
namespace {

// Looking back further costs more than a barrier does.
constexpr size_t kMostPending = 4096;

bool conflict(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.writes || b.writes) && a.buffer == b.buffer && a.begin < b.end && b.begin < a.end;
}

}  // namespace

bool Hazards::next(std::span<const MemoryAccess> accesses) {
  const bool waits =
      pending_.size() > kMostPending || std::ranges::any_of(accesses, [&](const MemoryAccess& a) {
        return std::ranges::any_of(pending_, [&](const MemoryAccess& b) { return conflict(a, b); });
      });
  if (waits) pending_.clear();
  pending_.insert(pending_.end(), accesses.begin(), accesses.end());
  return waits;
}

}  // namespace weft
