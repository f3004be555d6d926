// SPDX-License-Identifier: Apache-2.0
#include "tools/graph_reports.h"

#include "models/zoo.h"
#include "passes/sample_inputs.h"
#include "tools/cli.h"

namespace weft::cli {

nlohmann::json attention_json(const AttentionCount& count) {
  return {{"forward_fused", count.forward_fused},
          {"backward_fused", count.backward_fused},
          {"unfused", count.unfused}};
}

nlohmann::json graph_json(const GraphReport& report) {
  return {{"name", report.name},
          {"dims", report.dims},
          {"regions", report.regions.size()},
          {"kernels", report.kernels},
          {"copies", report.copies},
          {"bytes", report.bytes},
          {"flops", report.flops},
          {"peak_bytes", report.peak.bytes},
          {"storage_bytes", report.storage_bytes},
          {"packed_bytes", report.packed_bytes},
          {"packed_beside_bytes", report.beside_bytes},
          {"attention", attention_json(report.attention)}};
}

nlohmann::json regions_json(const GraphReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RegionReport& region : report.regions) {
    rows.push_back({{"name", region.name},
                    {"kind", region.kind},
                    {"chunked", region.chunked},
                    {"ops", region.ops},
                    {"kernels", region.kernels},
                    {"kernel_exceptions", region.exceptions},
                    {"origins", region.origins},
                    {"bytes_read", region.bytes_read},
                    {"bytes_written", region.bytes_written},
                    {"flops", region.flops}});
  }
  return rows;
}

std::string graph_line(const GraphReport& report) {
  char line[200];
  std::snprintf(line, sizeof line, "@%s: %lld kernels, %.3f GFLOP, %.1f MB at the peak",
                report.name.c_str(), static_cast<long long>(report.kernels),
                static_cast<double>(report.flops) / 1e9,
                static_cast<double>(report.peak.bytes) / 1e6);
  std::string text = line;
  for (const auto& [symbol, size] : report.dims) text += cat(" ", symbol, "=", size);
  return text + "\n";
}

Result<DimBinding> usual_dims(const Module& module, const std::string& graph,
                              const std::string& model, const DimBinding& given) {
  DimBinding dims = given;
  if (const Preset* preset = find_preset(model)) {
    dims.insert(preset->sizes.begin(), preset->sizes.end());
  }
  const Graph* found = module.find_graph(graph);
  WEFT_CHECK(found != nullptr, "a graph with a plan is in its module");
  std::set<std::string> symbols = symbols_of(module);
  std::erase_if(dims, [&](const auto& entry) { return symbols.count(entry.first) == 0; });
  return sample_dims(module, *found, dims);
}

Status keep_graph(Module& module, const std::string& name) {
  if (name.empty()) return ok();
  WEFT_TRY(const Graph* graph, choose_graph(module, name));
  Graph kept = *graph;
  module.graphs = {std::move(kept)};
  return ok();
}

}  // namespace weft::cli
