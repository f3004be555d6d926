// The fixed parts of a report's page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::report {

extern const char kStyle[];         // page_style.cc
extern const char kChartScript[];   // page_charts.cc: elements, scales, line charts
extern const char kMapScript[];     // page_maps.cc: heat maps
extern const char kReportScript[];  // page_report.cc: which of them a run gets

}  // namespace weft::report
