// SPDX-License-Identifier: Apache-2.0
#include "driver/report/positions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "frontend/nn.h"
#include "ir/oracle/oracle.h"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTable = "positions.weight";  // how nn::embedding names a learned one

// `at` gives the number at (row, column).
template <class At>
Json map_of(const std::string& name, const char* kind, int64_t rows, int64_t columns, At at) {
  Json values = Json::array();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const double value = at(row, column);
      values.push_back(std::isfinite(value) ? Json(std::round(value * 1e4) / 1e4) : Json());
    }
  }
  return {{"name", name}, {"kind", kind}, {"rows", rows}, {"columns", columns}, {"values", values}};
}

Result<Json> sinusoidal(const TransformerConfig& config, int64_t length) {
  ModelBuilder m("positions");
  m.begin_graph("positions");
  m.output("table", nn::sinusoidal_positions(m, length, config.d_model, config.dtype));
  WEFT_TRY(Module module, m.finish());
  WEFT_TRY(OracleResult result, run_oracle(module, module.graphs.front(), {}, {}));
  const std::vector<double>& table = result.outputs.at("table").reals;
  const int64_t width = config.d_model;
  return map_of("sinusoidal", "sinusoidal", length, std::min(width, kMostWidth),
                [&](int64_t row, int64_t column) {
                  return table[static_cast<size_t>(row * width + column)];
                });
}

Result<Json> learned(RunModel& model, const Storage& item, std::vector<std::string>& notes) {
  const int64_t rows = item.type.shape[0].constant();
  const int64_t width = item.type.shape[1].constant();
  WEFT_TRY(std::span<const std::byte> bytes, model.device->storage(item.name));
  const train::HostTensor table{item.type.dtype, {rows, width}, {bytes.begin(), bytes.end()}};
  if (rows > kMostPositions || width > kMostWidth) {
    notes.push_back(cat(item.name, " is ", rows, " by ", width, ": shown are the first ",
                        std::min(rows, kMostPositions), " by ", std::min(width, kMostWidth)));
  }
  return map_of(item.name.substr(0, item.name.rfind('.')), "learned",
                std::min(rows, kMostPositions), std::min(width, kMostWidth),
                [&](int64_t row, int64_t column) {
                  return train::real_at(table, static_cast<size_t>(row * width + column));
                });
}

}  // namespace

Result<Json> position_maps(RunModel& model, std::vector<std::string>& notes) {
  Json maps = Json::array();
  const TransformerConfig& config = model.options.model;
  for (const Storage& item : model.module.storage) {
    const bool table = item.name.ends_with(kTable) && item.type.rank() == 2 &&
                       (item.type.dtype == DType::f32 || item.type.dtype == DType::f64);
    if (!table) continue;
    WEFT_TRY(Json map, learned(model, item, notes));
    maps.push_back(std::move(map));
  }
  if (maps.empty() && config.positions == Positions::sinusoidal) {
    WEFT_TRY(Json map, sinusoidal(config, std::min(config.max_length, kMostPositions)));
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace weft::report
