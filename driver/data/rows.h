// The files of a task by rows: pairs of lines, rows of a table, pieces of a text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "driver/data/task.h"

namespace weft::data {

// What a row holds depends on the task. Valid until the next one is read.
struct Row {
  std::string_view text;    // the source of a translation; a language model's has its newline
  std::string_view target;  // translation
  std::string_view label;   // classification
  std::span<const float> pixels;
};

// A part of the files, counted in rows, or in characters of a language model's text.
struct Part {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // False at the end. Fails on what a file must not hold, and where one of two files ends early.
  virtual Result<bool> next(Row& row) = 0;
  virtual Loc loc() const = 0;  // of the row that `next` gave last
};
Result<std::unique_ptr<RowReader>> open_rows(const TaskOptions& options, const TaskFiles& files,
                                             Part part = {});

// The file that errors about all of it name.
const std::string& main_file(TaskKind kind, const TaskFiles& files);

struct Survey {
  int64_t size = 0;        // in what Part counts
  int64_t text_bytes = 0;  // of all texts
  std::set<std::string> labels;
};
// Reads everything once, so that later steps meet no surprise.
Result<Survey> survey(const TaskOptions& options, const TaskFiles& files);

}  // namespace weft::data
