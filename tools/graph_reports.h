// Reports on graphs, as several commands print them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "driver/explain.h"

namespace weft::cli {

nlohmann::json attention_json(const AttentionCount& count);
nlohmann::json graph_json(const GraphReport& report);  // sums only
nlohmann::json regions_json(const GraphReport& report);
std::string graph_line(const GraphReport& report);

// Sizes to report a graph at: those given, then the preset's usual ones, then small ones.
Result<DimBinding> usual_dims(const Module& module, const std::string& graph,
                              const std::string& model, const DimBinding& given);

// Drops every graph but the one that is named; keeps all without a name.
Status keep_graph(Module& module, const std::string& name);

}  // namespace weft::cli
