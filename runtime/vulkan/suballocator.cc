// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/suballocator.h"

#include <algorithm>

#include "ir/support/check.h"

namespace weft {

Suballocator::Suballocator(int64_t bytes) : bytes_(bytes) {
  if (bytes > 0) gaps_.emplace(0, bytes);
}

std::optional<int64_t> Suballocator::allocate(int64_t bytes, int64_t alignment) {
  WEFT_CHECK(bytes > 0 && alignment > 0, "a piece of memory has bytes and an alignment");
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const int64_t lost = (alignment - gap->first % alignment) % alignment;
    if (gap->second < bytes || gap->second - bytes < lost) continue;
    if (best == gaps_.end() || gap->second < best->second) best = gap;
  }
  if (best == gaps_.end()) return std::nullopt;
  const auto [begin, size] = *best;
  gaps_.erase(best);
  const int64_t offset = (begin + alignment - 1) / alignment * alignment;
  const int64_t end = offset + bytes;
  if (offset > begin) gaps_.emplace(begin, offset - begin);
  if (end < begin + size) gaps_.emplace(end, begin + size - end);
  taken_.emplace(offset, bytes);
  used_ += bytes;
  return offset;
}

void Suballocator::free(int64_t offset) {
  auto found = taken_.find(offset);
  WEFT_CHECK(found != taken_.end(), "only what was given out comes back");
  used_ -= found->second;
  auto gap = gaps_.emplace(offset, found->second).first;
  taken_.erase(found);
  auto next = std::next(gap);
  if (next != gaps_.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps_.erase(next);
  }
  if (gap == gaps_.begin()) return;
  auto before = std::prev(gap);
  if (before->first + before->second != gap->first) return;
  before->second += gap->second;
  gaps_.erase(gap);
}

int64_t Suballocator::largest_gap() const {
  int64_t most = 0;
  for (const auto& [offset, bytes] : gaps_) most = std::max(most, bytes);
  return most;
}

}  // namespace weft
