// Places in a block of memory.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/suballocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weft {
namespace {

TEST(Suballocator, TakesTheSmallestGapThatFits) {
  Suballocator block(1000);
  EXPECT_EQ(block.allocate(300, 1), 0);
  EXPECT_EQ(block.allocate(100, 1), 300);
  EXPECT_EQ(block.allocate(200, 1), 400);
  EXPECT_EQ(block.allocate(50, 1), 600);
  block.free(0);
  block.free(400);
  EXPECT_EQ(block.allocate(150, 1), 400);
  EXPECT_EQ(block.allocate(250, 1), 0);
  EXPECT_EQ(block.allocate(1000, 1), std::nullopt);
}

TEST(Suballocator, GapsThatTouchBecomeOne) {
  Suballocator block(300);
  for (int64_t offset : {0, 100, 200}) EXPECT_EQ(block.allocate(100, 4), offset);
  EXPECT_EQ(block.allocate(1, 1), std::nullopt);
  block.free(0);
  block.free(200);
  EXPECT_EQ(block.largest_gap(), 100);
  block.free(100);
  EXPECT_EQ(block.largest_gap(), 300);
  EXPECT_EQ(block.used(), 0);
}

TEST(Suballocator, RandomUseNeverOverlaps) {
  std::mt19937 random(7);
  Suballocator block(100'000);
  std::map<int64_t, int64_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      auto item = std::next(taken.begin(), static_cast<int64_t>(random() % taken.size()));
      block.free(item->first);
      taken.erase(item);
      continue;
    }
    const int64_t bytes = 1 + random() % 3000;
    const int64_t alignment = int64_t{1} << random() % 10;
    const auto offset = block.allocate(bytes, alignment);
    if (!offset) continue;
    ASSERT_EQ(*offset % alignment, 0);
    ASSERT_LE(*offset + bytes, 100'000);
    auto after = taken.lower_bound(*offset);
    if (after != taken.end()) {
      ASSERT_LE(*offset + bytes, after->first);
    }
    if (after != taken.begin()) {
      auto prior = std::prev(after);
      ASSERT_LE(prior->first + prior->second, *offset);
    }
    taken.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : taken) block.free(offset);
  EXPECT_EQ(block.largest_gap(), 100'000);
}

}  // namespace
}  // namespace weft
