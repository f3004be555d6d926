// Index arithmetic: canonical form, simplification by ranges, and evaluation against plain
// integers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "ir/tile/build.h"
#include "ir/tile/text.h"

namespace weft::tile {
namespace {

const Dim T = Dim::symbol("T");

class TileIndex : public testing::Test {
 protected:
  TileIndex() : b_("k") {
    b_axis_ = b_.axis("b", Dim::symbol("B"));
    t_ = b_.axis("t", T);
    h_ = b_.axis("h", 8);
    d_ = b_.axis("d", 64);
    m_ = b_.axis("m", Dim::symbol("B") * T);
  }

  std::string text(const Index& index) const { return print(b_.program(), index); }
  Index div(const Index& a, const Dim& by) const { return b_.floor_div(a, by); }
  Index mod(const Index& a, const Dim& by) const { return b_.mod(a, by); }
  static Index at(AxisId axis) { return axis_index(axis); }

  Builder b_;
  AxisId b_axis_, t_, h_, d_, m_;
};

TEST_F(TileIndex, IsCanonical) {
  EXPECT_EQ(at(h_) + at(d_), at(d_) + at(h_));
  EXPECT_EQ(at(h_) * 3 - at(h_) * 3, Index(0));
  EXPECT_EQ(at(h_) * 2 + at(h_), at(h_) * 3);
  EXPECT_EQ(text(at(d_) * -1 + at(h_) * 64 + 5), "64*h - d + 5");
  EXPECT_EQ(text(at(b_axis_) * T + at(t_) - Index(T) + 1), "T*b + t - T + 1");
}

TEST_F(TileIndex, DividesByRanges) {
  Index merged = at(h_) * 64 + at(d_);
  EXPECT_EQ(div(merged, 64), at(h_));
  EXPECT_EQ(mod(merged, 64), at(d_));
  EXPECT_EQ(div(merged, 512), Index(0));
  EXPECT_EQ(text(div(merged, 128)), "h/2");
  EXPECT_EQ(text(mod(merged, 128)), "d + 64*mod(h, 2)");
  Index rows = at(b_axis_) * T + at(t_);
  EXPECT_EQ(div(rows, T), at(b_axis_));
  EXPECT_EQ(mod(rows, T), at(t_));
  EXPECT_EQ(div(rows * 512 + merged, T * 512), at(b_axis_));
  EXPECT_EQ(mod(rows * 512 + merged, T * 512), at(t_) * 512 + merged);
}

TEST_F(TileIndex, KeepsWhatIsNotKnown) {
  EXPECT_EQ(text(div(at(t_), 4)), "t/4");
  EXPECT_EQ(text(mod(at(t_) + 1, T)), "mod(t + 1, T)");
  EXPECT_EQ(text(div(at(t_) - 1, T)), "(t - 1)/T");
  EXPECT_EQ(text(div(at(d_) + 1, 64)), "(d + 1)/64");
}

TEST_F(TileIndex, JoinsQuotientAndRest) {
  EXPECT_EQ(div(at(m_), T) * T + mod(at(m_), T), at(m_));
  EXPECT_EQ(div(div(at(m_), 4), 8), div(at(m_), 32));
  EXPECT_EQ(mod(mod(at(m_), 32), 8), mod(at(m_), 8));
}

TEST_F(TileIndex, SubstitutesAndAsks) {
  Index rows = div(at(m_), T);
  Index split = at(b_axis_) * T + at(t_);
  EXPECT_EQ(substitute(b_.program(), rows, {{m_, split}}), at(b_axis_));
  EXPECT_TRUE(uses_axis(rows, m_));
  EXPECT_FALSE(uses_axis(base_index(m_), m_));
  EXPECT_FALSE(is_affine(rows));
  EXPECT_EQ(coefficient(split, b_axis_), T);
  EXPECT_EQ(coefficient(split, d_), Dim(0));
  EXPECT_EQ(coefficient(rows, m_), std::nullopt);
  EXPECT_TRUE(surely_within(b_.program(), split, Dim::symbol("B") * T));
  EXPECT_FALSE(surely_within(b_.program(), split, Dim::symbol("B")));
}

// Simplified or not, the number is the same.
TEST_F(TileIndex, RandomExpressionsEvaluateAsPlainArithmetic) {
  std::mt19937_64 random(1);
  const DimBinding dims = {{"B", 3}, {"T", 5}};
  const std::vector<int64_t> sizes = {3, 5, 8, 64, 15};
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<int64_t> coords;
    for (int64_t size : sizes) coords.push_back(static_cast<int64_t>(random()) % size);
    for (int64_t& c : coords) c = c < 0 ? -c : c;
    Index index(static_cast<int64_t>(random() % 7));
    int64_t number = index.offset.constant();
    for (int step = 0; step < 6; ++step) {
      AxisId axis = static_cast<AxisId>(random() % sizes.size());
      const Dim factors[] = {1, 2, 8, 64, T, T * 8};
      const Dim& factor = factors[random() % 6];
      int64_t value = *factor.evaluate(dims);
      switch (random() % 4) {
        case 0:
          index = index + at(axis) * factor;
          number += coords[axis] * value;
          break;
        case 1:
          index = div(index, factor);
          number /= value;
          break;
        case 2:
          index = mod(index, factor);
          number %= value;
          break;
        default: index = index * factor; number *= value;
      }
      if (number > 1'000'000) break;
      IndexPoint point{dims, [&](const Index::Term& term) -> std::optional<int64_t> {
                         return coords[term.axis_id];
                       }};
      ASSERT_EQ(evaluate(index, point), number) << text(index);
    }
  }
}

}  // namespace
}  // namespace weft::tile
