// The runner that every pass goes through: verifies, times, skips and stops by name.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "ir/support/check.h"
#include "passes/pass.h"

namespace weft {
namespace {

Status check_pass_name(const std::string& name) {
  std::vector<std::string> known = pass_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return ok();
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) {
    hint = "passes:";
    for (const std::string& pass : known) hint += " " + pass;
  }
  return error({}, "there is no pass '", name, "'").hint(hint);
}

// One past the last row that is to run.
size_t end_of(const std::string& stop_after) {
  std::span<const Pass> passes = graph_pipeline();
  size_t end = passes.size();
  while (!stop_after.empty() && end > 0 && passes[end - 1].name != stop_after) --end;
  return end;
}

Result<PassRecord> run_pass(const Pass& pass, Module& module, const PassOptions& options) {
  CheckContext context("pass " + std::string(pass.name));
  PassRecord record;
  record.name = pass.name;
  auto start = std::chrono::steady_clock::now();
  WEFT_TRY(record.changed, pass.run(module, options));
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  record.milliseconds = elapsed.count();
  Status valid = verify(module);
  WEFT_CHECK(valid.ok(), "a pass leaves a valid module: " + render(valid.diagnostics()));
  return record;
}

}  // namespace

Result<std::vector<PassRecord>> run_pipeline(Module& module, const PipelineOptions& options) {
  for (const std::string& name : options.skip) WEFT_TRY_STATUS(check_pass_name(name));
  if (!options.stop_after.empty()) WEFT_TRY_STATUS(check_pass_name(options.stop_after));
  WEFT_TRY_STATUS(verify(module));

  std::vector<PassRecord> records;
  auto finish = [&](const PassRecord& record) -> Status {
    return options.after_pass ? options.after_pass(record, module) : ok();
  };
  PassRecord input;
  input.name = "input";
  input.index = -1;
  WEFT_TRY_STATUS(finish(input));

  size_t end = end_of(options.stop_after);
  for (size_t i = 0; i < end; ++i) {
    const Pass& pass = graph_pipeline()[i];
    PassRecord record;
    record.name = pass.name;
    record.skipped = std::ranges::find(options.skip, pass.name) != options.skip.end();
    if (!record.skipped) {
      WEFT_TRY(record, run_pass(pass, module, options.pass));
    }
    record.index = static_cast<int>(i);
    records.push_back(record);
    WEFT_TRY_STATUS(finish(record));
  }
  return records;
}

}  // namespace weft
