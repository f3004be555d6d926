// SPDX-License-Identifier: Apache-2.0
#include "driver/knob_search.h"

#include <algorithm>

namespace weft {
namespace {

// What a step has to gain: less may be noise, and would lead the search astray.
constexpr double kWorthAStep = 0.98;

}  // namespace

KnobSearch::KnobSearch(const tile::Program& program)
    : start_(knob_values(program)), best_(start_), tried_({{start_, 1.0}}) {
  for (size_t knob : choosable_knobs(program)) choices_.push_back(knob_choices(program, knob));
}

std::optional<KnobValues> KnobSearch::next() const {
  for (size_t knob = 0; knob < choices_.size(); ++knob) {
    const std::vector<int64_t>& choices = choices_[knob];
    const auto here = std::ranges::lower_bound(choices, best_[knob]) - choices.begin();
    for (const auto there : {here + 1, here - 1}) {
      if (there < 0 || there >= std::ssize(choices)) continue;
      KnobValues values = best_;
      values[knob] = choices[static_cast<size_t>(there)];
      if (!tried_.contains(values)) return values;
    }
  }
  return std::nullopt;
}

void KnobSearch::record(const KnobValues& values, double ratio) {
  tried_[values] = ratio;
  if (ratio >= best_ratio_ * kWorthAStep) return;
  best_ = values;
  best_ratio_ = ratio;
}

}  // namespace weft
