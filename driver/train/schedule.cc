// SPDX-License-Identifier: Apache-2.0
#include "driver/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::train {
namespace {

constexpr std::string_view kNames[] = {"noam", "cosine", "linear", "constant"};

}  // namespace

std::string_view name(ScheduleKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<ScheduleKind> parse_schedule(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<ScheduleKind>(i);
  }
  return std::nullopt;
}

double learning_rate(const Schedule& s, int64_t step) {
  const auto at = static_cast<double>(std::max<int64_t>(step, 1));
  const auto warmup = static_cast<double>(s.warmup);
  if (at < warmup) return s.peak * at / warmup;
  if (s.kind == ScheduleKind::constant) return s.peak;
  if (s.kind == ScheduleKind::noam) return s.peak * std::sqrt(std::max(warmup, 1.0) / at);
  const double length = std::max(1.0, static_cast<double>(s.steps) - warmup);
  const double done = std::min(1.0, (at - warmup) / length);
  const double left =
      s.kind == ScheduleKind::cosine ? 0.5 * (1 + std::cos(std::numbers::pi * done)) : 1 - done;
  return s.floor + (s.peak - s.floor) * left;
}

double noam_peak(int64_t d_model, int64_t warmup) {
  const auto product =
      static_cast<double>(d_model) * static_cast<double>(std::max<int64_t>(warmup, 1));
  return 1 / std::sqrt(product);
}

}  // namespace weft::train
