// The model zoo: presets by name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace weft {

struct Preset {
  std::string_view name;
  std::string_view description;
  Result<Module> (*build_with)(const TransformerConfig& config);  // the family
  TransformerConfig config;
  DimBinding sizes;  // usual sizes of its symbols, for counting and measuring

  Result<Module> build() const { return build_with(config); }
};

std::span<const Preset> presets();
const Preset* find_preset(std::string_view name);  // null if there is none
std::vector<std::string> preset_names();

// Elements of all parameters (not of state). All of their sizes are numbers.
int64_t parameter_count(const Module& module);

}  // namespace weft
