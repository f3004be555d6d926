// What a model adds to its tokens to tell their positions apart, as tables to look at.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/report/run_model.h"

namespace weft::report {

inline constexpr int64_t kMostPositions = 128;
inline constexpr int64_t kMostWidth = 512;

// [{"name", "kind", "rows", "columns", "values"}]: the sinusoidal table, as the model computes it,
// or the learned ones with the run's weights. Empty for models without a table. What is larger
// than the limits is cut, and a note says so.
Result<nlohmann::ordered_json> position_maps(RunModel& model, std::vector<std::string>& notes);

}  // namespace weft::report
