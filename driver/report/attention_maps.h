// Attention weights of one example: a sentence that was given, or one of the validation data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "driver/report/run_model.h"

namespace weft::report {

inline constexpr int64_t kMostTokens = 64;  // of a side; the rest is cut off

// {"texts": [{"name", "text", "tokens"}], "maps": [{"name", "rows", "columns", "heads"}], ..}:
// `rows` and `columns` are tokens, each head a list of T * S weights. Without a target, a
// translation is decoded greedily. Notes say what was
// cut; null and a note if the model gives no weights. Fails on a sentence that the run cannot take.
Result<nlohmann::ordered_json> attention_maps(RunModel& model,
                                              const std::optional<std::string>& sentence,
                                              const std::optional<std::string>& target,
                                              std::vector<std::string>& notes);

}  // namespace weft::report
