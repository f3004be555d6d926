// Learning rates, against the formulas.
// SPDX-License-Identifier: Apache-2.0
#include "driver/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::train {
namespace {

TEST(Schedule, NoamIsThePapersFormula) {
  Schedule s{ScheduleKind::noam, noam_peak(512, 4000), 4000, 100000, 0};
  for (int64_t step : {1, 2, 1000, 3999, 4000, 4001, 10000, 100000}) {
    auto t = static_cast<double>(step);
    double paper = std::pow(512, -0.5) * std::min(std::pow(t, -0.5), t * std::pow(4000, -1.5));
    EXPECT_NEAR(learning_rate(s, step), paper, 1e-15) << step;
  }
}

TEST(Schedule, EachReachesItsPeakAtTheEndOfTheWarmUp) {
  for (auto kind :
       {ScheduleKind::noam, ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::constant}) {
    Schedule s{kind, 0.5, 10, 100, 0.1};
    EXPECT_DOUBLE_EQ(learning_rate(s, 1), 0.05);
    EXPECT_DOUBLE_EQ(learning_rate(s, 5), 0.25);
    EXPECT_DOUBLE_EQ(learning_rate(s, 10), 0.5);
    EXPECT_LE(learning_rate(s, 11), 0.5);
  }
}

TEST(Schedule, CosineAndLinearEndAtTheFloor) {
  Schedule cosine{ScheduleKind::cosine, 1, 100, 2000, 0.1};
  EXPECT_NEAR(learning_rate(cosine, 1050), 0.1 + 0.9 * 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(cosine, 575), 0.1 + 0.45 * (1 + std::cos(std::acos(-1.0) / 4)), 1e-12);
  EXPECT_NEAR(learning_rate(cosine, 2000), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(cosine, 5000), 0.1, 1e-12);
  Schedule linear{ScheduleKind::linear, 1, 100, 2000, 0};
  EXPECT_NEAR(learning_rate(linear, 1050), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(linear, 2000), 0, 1e-12);
}

TEST(Schedule, WithoutWarmUpItBeginsAtThePeak) {
  for (auto kind : {ScheduleKind::noam, ScheduleKind::constant}) {
    EXPECT_DOUBLE_EQ(learning_rate({kind, 0.5, 0, 100, 0}, 1), 0.5);
  }
  EXPECT_DOUBLE_EQ(learning_rate({ScheduleKind::linear, 1, 0, 100, 0}, 50), 0.5);
}

TEST(Schedule, NamesAreThoseOfTheCommandLine) {
  for (const char* text : {"noam", "cosine", "linear", "constant"}) {
    EXPECT_EQ(name(parse_schedule(text).value()), text);
  }
  EXPECT_FALSE(parse_schedule("step").has_value());
}

}  // namespace
}  // namespace weft::train
