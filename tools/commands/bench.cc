// weft bench: measurements, one JSON line per result.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "driver/bench/roofline.h"
#include "runtime/devices.h"
#include "tools/cli.h"

namespace weft::cli {
namespace {

struct Options {
  std::string group;
  int repeat = 7;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Status roofline(const Options& options, const Common& common) {
  if (common.device != "cpu")
    return error({}, "no roofline of device '", common.device, "' in this build");
  CpuFacts facts = cpu_facts();
  int threads = common.threads > 0 ? common.threads : facts.threads;
  for (const RooflineResult& result : measure_roofline(threads, options.repeat)) {
    double middle = median(result.milliseconds);
    double least = *std::min_element(result.milliseconds.begin(), result.milliseconds.end());
    double gflops = result.gflop / (middle / 1e3);
    double gigabytes = result.gigabytes / (middle / 1e3);
    if (common.json) {
      WEFT_TRY_STATUS(put_json({{"case", result.name},
                                {"device", "cpu"},
                                {"threads", result.threads},
                                {"median_ms", middle},
                                {"min_ms", least},
                                {"gflops", gflops},
                                {"gb_per_s", gigabytes},
                                {"extra_mb", result.megabytes},
                                {"compile_ms", 0},
                                {"cpu", facts.model}}));
      continue;
    }
    char line[160];
    std::snprintf(line, sizeof line, "%-16s %d threads  %8.2f ms (best %.2f)  %8.1f %s\n",
                  result.name.c_str(), result.threads, middle, least,
                  result.gflop > 0 ? gflops : gigabytes, result.gflop > 0 ? "GFLOP/s" : "GB/s");
    WEFT_TRY_STATUS(put(line));
  }
  return ok();
}

}  // namespace

void add_bench(Session& session) {
  auto options = std::make_shared<Options>();  // shared with the callback, which outlives this call
  CLI::App* command =
      add_command(session, "bench", "measures; `roofline` is the machine's own limit",
                  "weft bench roofline --threads 2 --json");
  command->add_option("case", options->group, "roofline")
      ->required()
      ->check(CLI::IsMember({"roofline"}));
  command->add_option("--repeat", options->repeat, "measurements of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  on_run(session, command, [&session, options] { return roofline(*options, session.common); });
}

}  // namespace weft::cli
