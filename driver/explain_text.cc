// How `weft explain` reads.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "driver/explain.h"

namespace weft {
namespace {

constexpr size_t kShownBuffers = 8;

// "1.53 MB": three digits and a unit.
std::string scaled(double number, const char* unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  while (number >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    number /= 1000;
    ++prefix;
  }
  char text[48];
  int digits = prefix == 0 || number >= 100 ? 0 : number >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s%s", digits, number, kPrefixes[prefix], unit);
  return text;
}

std::string bytes_text(int64_t bytes) { return scaled(static_cast<double>(bytes), "B"); }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string region_text(const RegionReport& region) {
  char head[200];
  std::snprintf(head, sizeof head, "  %-28s %-8s %10s read %10s written %12s", region.name.c_str(),
                region.kind.c_str(), bytes_text(region.bytes_read).c_str(),
                bytes_text(region.bytes_written).c_str(),
                scaled(static_cast<double>(region.flops), "FLOP").c_str());
  std::string text = head;
  text += "\n    " + region.ops + "\n    kernel " + joined(region.kernels);
  if (!region.chunked.empty()) text += ", in the chunks of " + region.chunked;
  for (const std::string& exception : region.exceptions) text += "\n    " + exception;
  if (!region.origins.empty()) text += "\n    from " + region.origins[0];
  if (region.origins.size() > 1) text += cat(" and ", region.origins.size() - 1, " more");
  return text + "\n";
}

std::string attention_text(const GraphReport& report) {
  if (report.attention_lines.empty()) return "";
  const AttentionCount& count = report.attention;
  std::string text = cat("attention: ", count.forward_fused, " forward and ", count.backward_fused,
                         " backward fused, ", count.unfused, " not\n");
  for (const AttentionLine& line : report.attention_lines) {
    text += "  " + line.value + " ";
    if (!line.reason.empty()) {
      text += "not fused: " + line.reason + "\n";
      continue;
    }
    text += cat(line.form, "\n    tiles ", line.tiles, "; ", bytes_text(line.saved_bytes),
                " of scores never stored\n");
  }
  return text;
}

}  // namespace

std::string explanation_text(const GraphReport& report) {
  std::string text = "@" + report.name;
  for (const auto& [symbol, size] : report.dims) text += cat(" ", symbol, "=", size);
  text += cat("\n", report.regions.size(), " regions, ", report.kernels, " kernels, ",
              report.copies, " copies; ", scaled(static_cast<double>(report.flops), "FLOP"), ", ",
              bytes_text(report.bytes), " moved\n");
  if (!report.kernel_forms.empty()) text += "kernels for " + report.kernel_forms + "\n";
  for (const RegionReport& region : report.regions) text += region_text(region);
  if (!report.splits.empty()) text += "not joined:\n";
  for (const SplitReport& split : report.splits) {
    text += "  " + split.producer + " -> " + split.consumer + ": " + split.reason + "\n";
  }
  text += cat("memory: ", bytes_text(report.peak.bytes), " at the peak");
  if (!report.peak.region.empty()) text += " (in " + report.peak.region + ")";
  text += ", besides " + bytes_text(report.storage_bytes) + " of parameters and state\n";
  if (report.packed_bytes > 0) {
    text += "weights packed once: " + bytes_text(report.packed_bytes);
    text += report.beside_bytes == 0 ? ", in the place of the parameters\n"
                                     : ", " + bytes_text(report.beside_bytes) +
                                           " of it beside parameters that are read otherwise too\n";
  }
  for (size_t i = 0; i < report.peak.live.size() && i < kShownBuffers; ++i) {
    const LiveBuffer& buffer = report.peak.live[i];
    text += "  " + buffer.name + " " + bytes_text(buffer.bytes) + "\n";
  }
  if (report.peak.live.size() > kShownBuffers) {
    text += cat("  and ", report.peak.live.size() - kShownBuffers, " smaller ones\n");
  }
  return text + attention_text(report);
}

}  // namespace weft
