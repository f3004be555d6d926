// The page of a report: its parts around the data, which scripts draw.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "driver/report/page_parts.h"
#include "driver/report/report.h"

namespace weft::report {
namespace {

// JSON that can stand inside a script element: no text in it can end that.
std::string embedded(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  for (char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string page(const nlohmann::ordered_json& data) {
  std::string out = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Weft report</title>
<style>)";
  out += kStyle;
  out +=
      "</style>\n</head>\n<body>\n<main id=\"page\"></main>\n"
      "<noscript><p>This page draws its charts with a script.</p></noscript>\n"
      "<script type=\"application/json\" id=\"data\">";
  out += embedded(data);
  out += "</script>\n<script>\n'use strict';\n";
  for (const char* part : {kChartScript, kMapScript, kReportScript}) out += part;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace weft::report
