// Barriers stand where one command needs what another did, and nowhere else.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/hazards.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr MemoryAccess read(uint64_t buffer, int64_t begin, int64_t end) {
  return {buffer, begin, end, false};
}
constexpr MemoryAccess write(uint64_t buffer, int64_t begin, int64_t end) {
  return {buffer, begin, end, true};
}

bool next(Hazards& hazards, std::vector<MemoryAccess> accesses) { return hazards.next(accesses); }

TEST(Hazards, ReadAfterWriteWriteAfterReadWriteAfterWrite) {
  Hazards hazards;
  EXPECT_FALSE(next(hazards, {read(1, 0, 8), write(2, 0, 8)}));
  EXPECT_TRUE(next(hazards, {read(2, 4, 12)}));
  EXPECT_TRUE(next(hazards, {write(2, 11, 13)}));
  EXPECT_TRUE(next(hazards, {write(2, 12, 20)}));
}

TEST(Hazards, IndependentCommandsDoNotWait) {
  Hazards hazards;
  EXPECT_FALSE(next(hazards, {write(1, 0, 8)}));
  EXPECT_FALSE(next(hazards, {write(1, 8, 16)}));
  EXPECT_FALSE(next(hazards, {write(2, 0, 8), read(3, 0, 8)}));
  EXPECT_FALSE(next(hazards, {read(3, 0, 8)}));
  EXPECT_TRUE(next(hazards, {read(1, 0, 1)}));
}

TEST(Hazards, ABarrierOrdersAllBeforeIt) {
  Hazards hazards;
  EXPECT_FALSE(next(hazards, {write(1, 0, 8)}));
  EXPECT_FALSE(next(hazards, {write(2, 0, 8)}));
  EXPECT_TRUE(next(hazards, {read(1, 0, 8), write(3, 0, 8)}));
  EXPECT_FALSE(next(hazards, {read(2, 0, 8)}));
  EXPECT_TRUE(next(hazards, {read(3, 0, 8)}));
}

}  // namespace
}  // namespace weft
