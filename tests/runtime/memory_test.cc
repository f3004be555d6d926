// The arena's layout: no two buffers that are alive together overlap, and little is wasted.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "tests/support/mutate.h"

namespace weft {
namespace {

std::vector<Lifetime> random_lifetimes(std::mt19937_64& random, size_t count) {
  std::vector<Lifetime> lifetimes(count);
  auto steps = static_cast<uint32_t>(count + 1);
  for (Lifetime& lifetime : lifetimes) {
    lifetime.bytes = static_cast<int64_t>(
        random() % 5 == 0 ? 0 : random() % (random() % 9 == 0 ? 1000000 : 3000));
    lifetime.first = static_cast<uint32_t>(random() % steps);
    lifetime.last = std::min<uint32_t>(steps, lifetime.first + static_cast<uint32_t>(random() % 6));
  }
  return lifetimes;
}

// Looks at every byte line of every step.
bool overlap(const Lifetime& a, int64_t at, const Lifetime& b, int64_t bt) {
  bool together = std::max(a.first, b.first) <= std::min(a.last, b.last);
  return together && at < bt + b.bytes && bt < at + a.bytes;
}

void check(const std::vector<Lifetime>& lifetimes, const ArenaLayout& layout) {
  ASSERT_EQ(layout.offsets.size(), lifetimes.size());
  int64_t end = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    ASSERT_EQ(layout.offsets[i] % kBufferAlignment, 0);
    ASSERT_GE(layout.offsets[i], 0);
    end = std::max(end, layout.offsets[i] + lifetimes[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      ASSERT_FALSE(overlap(lifetimes[i], layout.offsets[i], lifetimes[j], layout.offsets[j]))
          << i << " and " << j;
    }
  }
  ASSERT_LE(end, layout.bytes);
  ASSERT_GE(layout.bytes, least_bytes(lifetimes));
}

TEST(Layout, NeverOverlaps) {
  double wasted = 0;
  int trials = suite_count(300);
  for (int seed = 0; seed < trials; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::vector<Lifetime> lifetimes = random_lifetimes(random, random() % 120);
    ArenaLayout layout = lay_out(lifetimes).value();
    check(lifetimes, layout);
    ASSERT_EQ(lay_out(lifetimes)->offsets, layout.offsets);
    int64_t least = least_bytes(lifetimes);
    if (least > 0) wasted += static_cast<double>(layout.bytes) / static_cast<double>(least) - 1;
  }
  EXPECT_LT(wasted / trials, 0.02);  // of the least possible, on average
}

TEST(Layout, ReusesWhatIsDead) {
  std::vector<Lifetime> chain;
  for (uint32_t i = 0; i < 100; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(lay_out(chain)->bytes, 2 * aligned(1000));
}

TEST(Layout, Edges) {
  EXPECT_EQ(lay_out({})->bytes, 0);
  EXPECT_EQ(lay_out(std::vector<Lifetime>{{0, 0, 5}})->bytes, 0);
  EXPECT_EQ(lay_out(std::vector<Lifetime>{{1, 0, UINT32_MAX}})->bytes, kBufferAlignment);
  std::vector<Lifetime> huge(4, Lifetime{INT64_MAX / 2, 0, 1});
  EXPECT_FALSE(lay_out(huge).ok());
}

// A few milliseconds; with the cube of their number it would be ten seconds.
TEST(Layout, ThousandsOfBuffersTakeNoTime) {
  std::mt19937_64 random(1);
  std::vector<Lifetime> lifetimes = random_lifetimes(random, 2000);
  std::clock_t start = std::clock();
  ASSERT_TRUE(lay_out(lifetimes).ok());
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1);
}

TEST(Memory, IsZeroAndAligned) {
  for (int64_t bytes : {0, 1, 5000, 2 << 20, (10 << 20) + 1}) {
    Memory memory = Memory::allocate(bytes, "test").value();
    EXPECT_EQ(memory.bytes(), bytes);
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    EXPECT_EQ(address % (bytes < kHugePage ? kBufferAlignment : kHugePage), 0u);
    for (int64_t i = 0; i < bytes; i += 4096) ASSERT_EQ(memory.data()[i], std::byte{0});
    Memory moved = std::move(memory);
    EXPECT_EQ(moved.bytes(), bytes);
  }
}

TEST(Memory, TooMuchIsAnError) {
  Result<Memory> memory = Memory::allocate(INT64_MAX / 2, "arena");
  ASSERT_FALSE(memory.ok());
  EXPECT_NE(render(memory.diagnostics()).find("arena: "), std::string::npos);
}

}  // namespace
}  // namespace weft
