// Canonical form, equality and evaluation of dims.
// SPDX-License-Identifier: Apache-2.0
#include "ir/types/dim.h"

#include <gtest/gtest.h>

#include <random>

namespace weft {
namespace {

const Dim kB = Dim::symbol("B");
const Dim kT = Dim::symbol("T");

TEST(Dim, PrintsInCanonicalOrder) {
  EXPECT_EQ((kT + 1).str(), "T + 1");
  EXPECT_EQ((Dim(1) + kT).str(), "T + 1");
  EXPECT_EQ((kT * 512 * kB).str(), "512*B*T");
  EXPECT_EQ((Dim(3) - kT).str(), "-T + 3");
  EXPECT_EQ(Dim::floor_div(kT + 1, 2).str(), "(T + 1)/2");
  EXPECT_EQ((Dim::floor_div(kT, 2) * kB).str(), "B*(T/2)");
  EXPECT_EQ(Dim::min(kT, 512).str(), "min(512, T)");
  EXPECT_EQ((kB - kB).str(), "0");
}

TEST(Dim, EqualityIsDecidedByTheCanonicalForm) {
  EXPECT_EQ((kB + kT) * (kB + kT), kB * kB + Dim(2) * kB * kT + kT * kT);
  EXPECT_NE(kB, kT);
  EXPECT_EQ(Dim::floor_div(Dim(6) * kB + kT, 3), Dim(2) * kB + Dim::floor_div(kT, 3));
  EXPECT_EQ(Dim::min(kB, kT), Dim::min(kT, kB));
  EXPECT_EQ(Dim::mod(Dim(4) * kB, 4), Dim(0));
}

TEST(Dim, OverflowIsStickyAndEqualsNothing) {
  Dim huge = Dim(INT64_MAX) * kB * 2;
  EXPECT_TRUE(huge.overflowed());
  EXPECT_TRUE((huge + 1).overflowed());
  EXPECT_FALSE(huge == huge);
  EXPECT_TRUE((Dim(INT64_MAX) + 1).overflowed());
  EXPECT_TRUE(Dim::floor_div(kB, 0).overflowed());
}

TEST(Dim, GrowthIsBounded) {
  Dim sum = kB + kT + Dim::symbol("C") + Dim::symbol("D") + 1;
  Dim power = sum;
  for (int i = 0; i < 40; ++i) power = power * sum;
  EXPECT_TRUE(power.overflowed());
}

// Whatever the order of construction, evaluation agrees with plain arithmetic.
TEST(Dim, RandomExpressionsEvaluateAsPlainArithmetic) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    DimBinding binding{{"B", random() % 9 + 1}, {"T", random() % 17 + 1}};
    std::vector<std::pair<Dim, int64_t>> pool = {
        {kB, binding["B"]}, {kT, binding["T"]}, {3, 3}, {1, 1}};
    for (int step = 0; step < 6; ++step) {
      auto [a, x] = pool[random() % pool.size()];
      auto [b, y] = pool[random() % pool.size()];
      auto floored = [](int64_t p, int64_t q) {
        return p / q - (p % q != 0 && (p < 0) != (q < 0) ? 1 : 0);
      };
      switch (random() % 6) {
        case 0: pool.emplace_back(a + b, x + y); break;
        case 1: pool.emplace_back(a - b, x - y); break;
        case 2: pool.emplace_back(a * b, x * y); break;
        case 3: pool.emplace_back(Dim::min(a, b), std::min(x, y)); break;
        case 4: pool.emplace_back(Dim::max(a, b), std::max(x, y)); break;
        default:
          if (y > 0) pool.emplace_back(Dim::floor_div(a, b), floored(x, y));
      }
    }
    for (const auto& [dim, value] : pool) {
      if (dim.overflowed()) continue;
      ASSERT_EQ(dim.evaluate(binding), value) << dim.str();
      DimFacts facts;
      facts.bounds = {{"B", {1, 9}}, {"T", {1, 17}}};
      ASSERT_LE(facts.bounds_of(dim).low, value) << dim.str();
      ASSERT_GE(facts.bounds_of(dim).high, value) << dim.str();
    }
  }
}

TEST(DimFacts, AssertedEqualitiesDecide) {
  DimFacts facts;
  EXPECT_FALSE(facts.equal(kB, kT + 1));
  facts.assert_equal(kB, kT + 1);
  EXPECT_TRUE(facts.equal(kB, kT + 1));
  EXPECT_TRUE(facts.equal(kB * 2, kT * 2 + 2));
  EXPECT_FALSE(facts.equal(kB, kT));
}

TEST(DimFacts, EqualitiesJoinInAnyOrder) {
  const Dim a = Dim::symbol("A"), c = Dim::symbol("C"), k = Dim::symbol("K");
  DimFacts facts;
  facts.assert_equal(a, kB);
  facts.assert_equal(c, a);
  EXPECT_TRUE(facts.equal(a, c));
  EXPECT_TRUE(facts.equal(c * 2, a + kB));
  facts.assert_equal(kB, k * 2);  // known values follow
  EXPECT_EQ(facts.canonical(a), k * 2);
  EXPECT_EQ(facts.canonical(c), k * 2);
  EXPECT_EQ(facts.equalities().size(), 3u);
}

TEST(DimFacts, EqualitiesAreSolvedForASymbolWithinASum) {
  const Dim a = Dim::symbol("A"), c = Dim::symbol("C");
  DimFacts facts;
  facts.assert_equal(a, kB + 1);
  facts.assert_equal(a, c + 1);
  EXPECT_TRUE(facts.equal(kB, c));
}

TEST(DimFacts, ACircleOfEqualitiesEnds) {
  const Dim a = Dim::symbol("A"), c = Dim::symbol("C");
  DimFacts facts;
  facts.assert_equal(a, kB);
  facts.assert_equal(kB, c);
  facts.assert_equal(c, a);
  facts.assert_equal(kT, Dim::min(kT, a));  // the symbol occurs on both sides: not used
  EXPECT_TRUE(facts.equal(a, c));
  EXPECT_FALSE(facts.equal(a, kT));
  EXPECT_FALSE(facts.equal(kT, Dim::min(kT, a)));
}

TEST(DimFacts, EqualitiesThatGrowTooLargeAreNotUsed) {
  DimFacts facts;
  for (int i = 0; i < 40; ++i) {
    Dim next = Dim::symbol("S" + std::to_string(i + 1));
    facts.assert_equal(Dim::symbol("S" + std::to_string(i)), next * next + next);
  }
  EXPECT_EQ(facts.equalities().size(), 40u);
  EXPECT_FALSE(facts.canonical(Dim::symbol("S0")).overflowed());
  EXPECT_FALSE(facts.equal(Dim::symbol("S0"), Dim::symbol("S39")));
}

TEST(DimFacts, ManyEqualitiesAreCheapToUse) {
  DimFacts facts;
  for (int i = 0; i < 64; ++i) {
    facts.assert_equal(Dim::symbol("S" + std::to_string(i)),
                       Dim::symbol("S" + std::to_string(i + 1)));
  }
  const Dim first = Dim::symbol("S0"), last = Dim::symbol("S64");
  for (int i = 0; i < 10000; ++i) ASSERT_TRUE(facts.equal(first + i, last + i));
}

TEST(Dim, LinearInASymbol) {
  auto linear = (kB * 3 + kT * kT + 1).linear_in("B");
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(linear->first, 3);
  EXPECT_EQ(linear->second, kT * kT + 1);
  EXPECT_FALSE((kB * 3 + kB * kT).linear_in("B").has_value());
  EXPECT_FALSE((kB + Dim::min(kB, kT)).linear_in("B").has_value());
  EXPECT_FALSE((kT + 1).linear_in("B").has_value());
  EXPECT_FALSE(Dim(1).linear_in("B").has_value());
}

TEST(Dim, ExactQuotients) {
  Dim b = Dim::symbol("B");
  Dim t = Dim::symbol("T");
  EXPECT_EQ(Dim::exact_quotient(b * t * 6, t * 3), b * 2);
  EXPECT_EQ(Dim::exact_quotient(b * t + t * 2, t), b + 2);
  EXPECT_EQ(Dim::exact_quotient(0, t), Dim(0));
  EXPECT_EQ(Dim::exact_quotient(Dim::floor_div(b, 2) * 4, Dim::floor_div(b, 2)), Dim(4));
  EXPECT_EQ(Dim::exact_quotient(b * t + 1, t), std::nullopt);
  EXPECT_EQ(Dim::exact_quotient(b * 3, 2), std::nullopt);
  EXPECT_EQ(Dim::exact_quotient(b, b + t), std::nullopt);
  EXPECT_EQ(Dim::exact_quotient(b, 0), std::nullopt);
  EXPECT_EQ(Dim::exact_quotient(INT64_MIN, -1), std::nullopt);
}

TEST(Dim, TheLowestIntegerIsDividedWithoutOverflow) {
  EXPECT_TRUE(Dim::floor_div(kT + INT64_MIN, -1).overflowed());
  EXPECT_TRUE(Dim::floor_div(INT64_MIN, -1).overflowed());
  Dim remainder = Dim::mod(kB, kT);
  EXPECT_EQ(remainder.evaluate({{"B", INT64_MIN}, {"T", 3}}), 1);
  EXPECT_EQ(remainder.evaluate({{"B", INT64_MAX}, {"T", INT64_MIN}}), -1);
  EXPECT_EQ(remainder.evaluate({{"B", INT64_MIN}, {"T", -1}}), std::nullopt);
  EXPECT_EQ(remainder.evaluate({{"B", 5}, {"T", 0}}), std::nullopt);
}

TEST(DimFacts, BoundsHoldForNegativeDivisors) {
  DimFacts facts;
  facts.bounds = {{"B", {-7, 5}}, {"T", {INT64_MIN, -1}}};
  EXPECT_EQ(facts.bounds_of(Dim::mod(kB, kT)), (DimFacts::Bounds{INT64_MIN + 1, 0}));
  EXPECT_EQ(facts.bounds_of(Dim::floor_div(kB, kT)), (DimFacts::Bounds{-7, 7}));
  facts.bounds["T"] = {INT64_MIN, INT64_MIN};
  EXPECT_EQ(facts.bounds_of(Dim::mod(kB, kT)), (DimFacts::Bounds{INT64_MIN + 1, 0}));
}

TEST(Dim, EvaluateNeedsEverySymbol) {
  EXPECT_EQ((kB + kT).evaluate({{"B", 1}}), std::nullopt);
  EXPECT_EQ((kB * kB).evaluate({{"B", INT64_MAX}}), std::nullopt);
}

}  // namespace
}  // namespace weft
