// SPDX-License-Identifier: Apache-2.0
#include "driver/decode/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/data/utf8.h"
#include "driver/view/view.h"

namespace weft::decode {
namespace {

constexpr size_t kAttended = 3;
constexpr int64_t kMostTables = 200;
constexpr size_t kColumn = 12;  // characters of a token in a list

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// The positions of a source with the largest weights, the largest first.
std::vector<size_t> strongest(const StepTrace& step, size_t positions) {
  std::vector<size_t> order;
  for (size_t i = 0; i < std::min(positions, step.weights.size()); ++i) order.push_back(i);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return step.weights[i]; });
  if (order.size() > kAttended) order.resize(kAttended);
  return order;
}

std::string padded(std::string text, size_t width) {
  const auto length = static_cast<size_t>(data::count_code_points(text));
  if (length < width) text.append(width - length, ' ');
  return text;
}

std::vector<const StepTrace*> steps_of_best(const Translated& line) {
  return line.best.empty() ? std::vector<const StepTrace*>() : steps_of(line.best[0].hypothesis);
}

constexpr const char* kStyle = R"(
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #1a1a1a; background: #fdfdfc; }
h1 { font-size: 1.3em; } h2 { font-size: 1em; margin: 2em 0 0.5em; }
table { border-collapse: collapse; } td { width: 2.6em; height: 1.9em; border: 1px solid #e4e4e0; }
th { font-weight: normal; padding: 0.1em 0.5em; text-align: right; white-space: nowrap; }
thead th { text-align: left; writing-mode: vertical-rl; transform: rotate(180deg); padding: 0.4em 0.1em; }
p { color: #6b6b6b; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818; } td { border-color: #333; } }
)";

}  // namespace

nlohmann::ordered_json trace_json(const data::Tokenizer& tokenizer, const Translated& line) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const StepTrace* step : steps_of_best(line)) {
    nlohmann::ordered_json top = nlohmann::ordered_json::array();
    for (const Candidate& c : step->top) {
      top.push_back({{"token", tokenizer.piece(c.token)},
                     {"id", c.token},
                     {"probability", std::exp(static_cast<double>(c.logit))}});
    }
    nlohmann::ordered_json attends = nlohmann::ordered_json::array();
    for (size_t i : strongest(*step, line.source.size())) {
      attends.push_back({{"position", i}, {"token", line.source[i]}, {"weight", step->weights[i]}});
    }
    std::vector<float> weights = step->weights;
    weights.resize(std::min(weights.size(), line.source.size()));
    steps.push_back({{"chosen", tokenizer.piece(step->chosen)},
                     {"id", step->chosen},
                     {"probability", std::exp(static_cast<double>(step->log_probability))},
                     {"top", std::move(top)},
                     {"attends", std::move(attends)},
                     {"weights", std::move(weights)}});
  }
  return steps;
}

std::string trace_text(const data::Tokenizer& tokenizer, const Translated& line) {
  std::string text;
  int64_t n = 0;
  for (const StepTrace* step : steps_of_best(line)) {
    text += cat("  ", padded(cat(++n), 3), padded(tokenizer.piece(step->chosen), kColumn), " ",
                number(std::exp(static_cast<double>(step->log_probability)), 3), "  of");
    for (const Candidate& c : step->top) {
      text += cat("  ", tokenizer.piece(c.token), " ",
                  number(std::exp(static_cast<double>(c.logit)), 3));
    }
    text += "  by";
    for (size_t i : strongest(*step, line.source.size())) {
      text +=
          cat("  ", line.source[i], "[", i, "] ", number(static_cast<double>(step->weights[i]), 2));
    }
    text += "\n";
  }
  return text;
}

void Heatmap::add(const data::Tokenizer& tokenizer, int64_t line_number, const Translated& line) {
  const std::vector<const StepTrace*> steps = steps_of_best(line);
  if (steps.empty()) return;
  if (shown_ == kMostTables) {
    ++left_out_;
    return;
  }
  ++shown_;
  tables_ += cat("<h2>", line_number, ". ", escape_html(line.best[0].text),
                 "</h2>\n<table><thead><tr><th></th>");
  for (const std::string& piece : line.source) {
    tables_ += "<th>" + escape_html(piece) + "</th>";
  }
  tables_ += "</tr></thead>\n";
  for (const StepTrace* step : steps) {
    const std::string target = escape_html(tokenizer.piece(step->chosen));
    tables_ += "<tr><th>" + target + "</th>";
    for (size_t i = 0; i < std::min(line.source.size(), step->weights.size()); ++i) {
      const double weight = static_cast<double>(step->weights[i]);
      tables_ +=
          cat("<td style=\"background: rgba(214, 96, 20, ", number(weight, 3), ")\" title=\"",
              target, " / ", escape_html(line.source[i]), ": ", number(weight, 3), "\"></td>");
    }
    tables_ += "</tr>\n";
  }
  tables_ += "</table>\n";
}

std::string Heatmap::page() const {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Attention of "
      "translations</title><style>" +
      std::string(kStyle) +
      "</style></head><body>\n<h1>Attention of translations</h1>\n<p>Rows: what was written. "
      "Columns: "
      "what was read. The darker, the more it was attended to, on average over heads and "
      "layers.</p>\n" +
      tables_;
  if (left_out_ > 0) page += cat("<p>", left_out_, " more lines are not shown.</p>\n");
  return page + "</body></html>\n";
}

}  // namespace weft::decode
