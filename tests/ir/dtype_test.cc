// Rounding and storage of element types.
// SPDX-License-Identifier: Apache-2.0
#include "ir/types/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(DType, NamesRoundTrip) {
  for (const std::string& text : dtype_names()) EXPECT_EQ(name(*parse_dtype(text)), text);
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
}

TEST(DType, EveryF16RoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    double value = from_f16_bits(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_f16_bits(value), bits);
    ASSERT_EQ(round_to(DType::f16, value), value);
  }
}

TEST(DType, EveryBf16RoundTrips) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    double value = from_bf16_bits(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_bf16_bits(value), bits);
    ASSERT_EQ(round_to(DType::bf16, value), value);
  }
}

TEST(DType, RoundsToNearestEven) {
  EXPECT_EQ(round_to(DType::f16, 2049.0), 2048.0);  // halfway, even below
  EXPECT_EQ(round_to(DType::f16, 2051.0), 2052.0);  // halfway, even above
  EXPECT_EQ(round_to(DType::f16, 65519.0), 65504.0);
  EXPECT_EQ(round_to(DType::f16, 65520.0), kInf);
  EXPECT_EQ(round_to(DType::f16, std::ldexp(1.0, -25)), 0.0);
  EXPECT_EQ(round_to(DType::f16, std::ldexp(1.5, -25)), std::ldexp(1.0, -24));
  EXPECT_EQ(round_to(DType::bf16, 257.0), 256.0);
  EXPECT_EQ(round_to(DType::f32, 16777217.0), 16777216.0);
  EXPECT_TRUE(std::signbit(round_to(DType::f16, -1e-12)));
}

TEST(DType, IntegersWrapAndSaturate) {
  EXPECT_EQ(wrap_to(DType::i8, 130), -126);
  EXPECT_EQ(wrap_to(DType::u8, -1), 255);
  EXPECT_EQ(wrap_to(DType::u32, -1), 4294967295);
  EXPECT_EQ(to_integer(DType::i8, 1e9), 127);
  EXPECT_EQ(to_integer(DType::u8, -3.5), 0);
  EXPECT_EQ(to_integer(DType::i32, -2.9), -2);
  EXPECT_EQ(to_integer(DType::i64, 1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_integer(DType::i64, -1e30), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(to_integer(DType::i32, std::nan("")), 0);
  EXPECT_EQ(to_integer(DType::boolean, std::nan("")), 1);
}

}  // namespace
}  // namespace weft
