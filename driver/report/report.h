// The report of a training run: what is gathered from its folder, and the page that shows it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "driver/train/device.h"

namespace weft::report {

struct ReportOptions {
  std::string run = {};                      // the folder
  std::optional<std::string> sentence = {};  // whose attention is shown; else of validation data
  std::optional<std::string> target = {};    // its translation; else decoded greedily
  train::DeviceOptions device = {};
};

// Everything that the page shows. Works for runs at any point of their life: what is missing or
// damaged is said in `notes`. Fails if the folder is no run's, or if the sentence does not suit it.
Result<nlohmann::ordered_json> gather(const ReportOptions& options);

// One page of HTML that needs nothing else. All text in `data` is escaped.
std::string page(const nlohmann::ordered_json& data);

}  // namespace weft::report
