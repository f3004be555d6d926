// metrics.jsonl as a report needs it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/support/result.h"

namespace weft::report {

// More lines than this are thinned out.
inline constexpr size_t kMostLines = 20000;

struct Metrics {
  std::vector<nlohmann::ordered_json> lines;     // numbers by name; each has a step
  std::vector<nlohmann::ordered_json> warnings;  // step and text
  std::vector<std::string> notes;                // what could not be read
};

// Of a run; no lines, and a note, if there is no such file. What a line has beyond what a trainer
// writes is left out.
Metrics read_metrics(const std::string& run);

// Six digits are enough to look at.
double rounded(double value);

// What went wrong, without the place in a source text.
std::string first_message(const Diagnostics& diagnostics);

}  // namespace weft::report
