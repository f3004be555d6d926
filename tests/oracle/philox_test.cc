// Philox against the known answers published with Random123.
// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/philox.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, WordsDoNotDependOnTheOrderOfAsking) {
  RandomBits forward(7, 3, 1);
  RandomBits backward(7, 3, 1);
  std::array<uint32_t, 11> words;
  for (uint64_t i = 0; i < 11; ++i) words[i] = forward.word(i);
  for (uint64_t i = 11; i-- > 0;) EXPECT_EQ(backward.word(i), words[i]);
  PhiloxCounter second = philox({1, 0, 3, 0}, {7, 1});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(words[4 + i], second[i]);
}

TEST(Philox, CountsBlocksBeyond32Bits) {
  RandomBits bits(7, 3, 1);
  EXPECT_EQ(bits.word((uint64_t{5} << 34) + 6), philox({1, 5, 3, 0}, {7, 1})[2]);
}

}  // namespace
}  // namespace weft
