// SPDX-License-Identifier: Apache-2.0
#include "driver/report/metrics.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ir/support/file.h"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr size_t kMostNamed = 3;  // damaged lines
constexpr int kMostDepth = 3;     // attention -> layer -> statistic -> one number per head

constexpr const char* kNumbers[] = {"epoch",        "loss",         "ppl",         "val_loss",
                                    "val_ppl",      "val_accuracy", "grad_norm",   "lr",
                                    "tokens_per_s", "step_ms",      "data_wait_ms"};
constexpr const char* kTables[] = {"grad_norms", "update_ratios", "input_norms", "output_norms",
                                   "attention"};

// The numbers in it; null for anything else.
Json numbers_of(const Json& from, int depth) {
  if (from.is_number()) return rounded(from.get<double>());
  Json out;
  if (depth == 0) return out;
  if (from.is_array()) {
    out = Json::array();
    for (const Json& item : from) out.push_back(numbers_of(item, depth - 1));
  } else if (from.is_object()) {
    out = Json::object();
    for (const auto& [key, item] : from.items()) out[key] = numbers_of(item, depth - 1);
  }
  return out;
}

Json known_parts(const Json& line) {
  Json out = {{"step", line["step"]}};
  for (const char* name : kNumbers) {
    if (line.contains(name) && line[name].is_number()) out[name] = numbers_of(line[name], 0);
  }
  for (const char* name : kTables) {
    if (line.contains(name) && line[name].is_object())
      out[name] = numbers_of(line[name], kMostDepth);
  }
  return out;
}

void read_line(std::string_view text, size_t number, Metrics& metrics, size_t& bad) {
  const Json line = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) {
    if (++bad <= kMostNamed) {
      metrics.notes.push_back(
          cat("metrics.jsonl: line ", number, " is cut short or damaged, and left out"));
    }
    return;
  }
  if (line.contains("warning") && line["warning"].is_string()) {
    metrics.warnings.push_back({{"step", line["step"]}, {"text", line["warning"]}});
    return;
  }
  metrics.lines.push_back(known_parts(line));
}

// Evaluations stay; of the rest every nth.
void thin_out(Metrics& metrics) {
  if (metrics.lines.size() <= kMostLines) return;
  const size_t every = (metrics.lines.size() + kMostLines - 1) / kMostLines;
  std::vector<Json> kept;
  for (size_t i = 0; i < metrics.lines.size(); ++i) {
    if (i % every == 0 || metrics.lines[i].contains("val_loss")) {
      kept.push_back(std::move(metrics.lines[i]));
    }
  }
  metrics.notes.push_back(cat("metrics.jsonl has ", metrics.lines.size(),
                              " lines: shown are one of ", every, ", and every evaluation"));
  metrics.lines = std::move(kept);
}

}  // namespace

double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return std::strtod(text, nullptr);
}

std::string first_message(const Diagnostics& diagnostics) {
  const Diagnostic& first = diagnostics.front();
  return first.loc.source ? first.loc.source->name + ": " + first.message : first.message;
}

Metrics read_metrics(const std::string& run) {
  Metrics metrics;
  const std::string path = run + "/metrics.jsonl";
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) {
    metrics.notes.push_back("there is no metrics.jsonl: the run has not written a line yet");
    return metrics;
  }
  Result<std::string> text = read_file(path, kMaxBytes);
  if (!text.ok()) {
    metrics.notes.push_back(first_message(text.diagnostics()));
    return metrics;
  }
  size_t bad = 0;
  size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    read_line(rest.substr(0, end), ++number, metrics, bad);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (bad > kMostNamed) {
    metrics.notes.push_back(cat("metrics.jsonl: ", bad - kMostNamed, " more lines are damaged"));
  }
  thin_out(metrics);
  return metrics;
}

}  // namespace weft::report
