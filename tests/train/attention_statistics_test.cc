// Entropy, distance and diversity of attention weights that are easy to count.
// SPDX-License-Identifier: Apache-2.0
#include "driver/train/attention_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace weft::train {
namespace {

HostTensor weights_of(std::vector<int64_t> shape, const std::vector<float>& values) {
  HostTensor tensor{DType::f32, std::move(shape), std::vector<std::byte>(values.size() * 4)};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// Two heads, two rows, four columns: head 0 looks at one key, head 1 at all alike.
const std::vector<float> kSharpAndFlat = {0,    0,    1,    0,    /**/ 0,    1,    0,    0,
                                          .25F, .25F, .25F, .25F, /**/ .25F, .25F, .25F, .25F};

TEST(AttentionStatistics, OneKeyAndAllKeys) {
  auto heads = attention_statistics(weights_of({1, 2, 2, 4}, kSharpAndFlat), {true, true});
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].entropy, 0);
  EXPECT_NEAR(heads[1].entropy, std::log(4), 1e-12);
  EXPECT_EQ(heads[0].distance, (2 + 0) / 2.0);
  EXPECT_NEAR(heads[1].distance, ((0 + 1 + 2 + 3) / 4.0 + (1 + 0 + 1 + 2) / 4.0) / 2, 1e-12);
  EXPECT_NEAR(heads[0].diversity, 0.75, 1e-12);
  EXPECT_NEAR(heads[1].diversity, 0.75, 1e-12);
}

TEST(AttentionStatistics, RowsOfPaddingAndRowsWithoutKeysAreLeftOut) {
  auto one = attention_statistics(weights_of({1, 2, 2, 4}, kSharpAndFlat), {true, false});
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[0].distance, 2);
  std::vector<float> empty = kSharpAndFlat;  // its second row looks at nothing
  for (size_t i : {4, 5, 6, 7, 12, 13, 14, 15}) empty[i] = 0;
  auto rest = attention_statistics(weights_of({1, 2, 2, 4}, empty), {true, true});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].distance, 2);
  EXPECT_NEAR(rest[1].entropy, std::log(4), 1e-12);
  EXPECT_TRUE(attention_statistics(weights_of({1, 2, 2, 4}, empty), {false, false}).empty());
}

TEST(AttentionStatistics, AHeadAloneHasNoDiversity) {
  auto heads = attention_statistics(weights_of({2, 1, 1, 2}, {1, 0, .5F, .5F}), {true, true});
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].diversity, -1);
  EXPECT_NEAR(heads[0].entropy, std::log(2) / 2, 1e-12);
}

TEST(AttentionStatistics, NumbersThatAreNotFiniteGiveNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(attention_statistics(weights_of({1, 1, 1, 2}, {nan, 1}), {true}).empty());
}

}  // namespace
}  // namespace weft::train
