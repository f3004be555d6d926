// What goes into a search, checked, and what came of it, in order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "driver/decode/search.h"

namespace weft::decode {

Status check(const SearchOptions& options) {
  if (options.beam < 1 || options.beam > 4096) {
    return error({}, "--beam is ", options.beam, ", expected 1 to 4096");
  }
  if (options.n_best < 1 || options.n_best > options.beam) {
    return error({}, "--n-best is ", options.n_best, ", expected 1 to the beam's ", options.beam);
  }
  if (!std::isfinite(options.length_penalty)) {
    return error({}, "--length-penalty is ", options.length_penalty, ", expected a number");
  }
  if (options.min_length < 0 || options.max_length < 0 || options.no_repeat < 0) {
    return error({}, "lengths are at least 0");
  }
  if (options.max_length > 0 && options.min_length > options.max_length) {
    return error({}, "--min-length ", options.min_length, " is above --max-length ",
                 options.max_length);
  }
  return ok();
}

std::vector<const StepTrace*> steps_of(const Hypothesis& hypothesis) {
  std::vector<const StepTrace*> steps;
  for (const StepTrace* step = hypothesis.trace.get(); step != nullptr;
       step = step->earlier.get()) {
    steps.push_back(step);
  }
  std::ranges::reverse(steps);
  return steps;
}

}  // namespace weft::decode
