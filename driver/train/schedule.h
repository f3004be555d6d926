// Learning rate schedules: the rate of a step as a function of its number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::train {

enum class ScheduleKind : uint8_t {
  noam,      // rises, then falls with the root of the step, as the Transformer paper has it
  cosine,    // rises, then falls to `floor` along half a cosine
  linear,    // rises, then falls to `floor` in a straight line
  constant,  // rises and stays
};
std::string_view name(ScheduleKind kind);
std::optional<ScheduleKind> parse_schedule(std::string_view name);

struct Schedule {
  ScheduleKind kind = ScheduleKind::noam;
  double peak = 1e-3;  // reached at the end of the warm-up
  int64_t warmup = 0;  // steps; rates rise from peak / warmup in a straight line
  int64_t steps = 1;   // of the whole run: where cosine and linear end
  double floor = 0;    // where they end at
};

// Of step 1, 2, .. ; cosine and linear stay at the floor after the last step.
double learning_rate(const Schedule& schedule, int64_t step);

// The peak that makes `noam` the paper's formula: d_model^-0.5 * min(step^-0.5, step *
// warmup^-1.5).
double noam_peak(int64_t d_model, int64_t warmup);

}  // namespace weft::train
