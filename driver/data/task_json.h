// What a run's folder keeps of a task beside its tokenizer and examples: `data.json`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/data/makers.h"
#include "driver/data/task.h"

namespace weft::data {

struct TaskRecord {
  TaskOptions options;
  TaskFacts facts;
  PixelScale pixels;
  std::string tokenizer_digest;  // of its file; empty if there is none
};

std::string to_json(const TaskRecord& record);
Result<TaskRecord> parse_task_record(const std::string& path, const std::string& json);

// The name and both values of the first option that differs: "vocab is 100, not 200"; empty if
// none.
std::string first_difference(const TaskOptions& there, const TaskOptions& asked);

}  // namespace weft::data
