// CSV and TSV files by rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/data/text_file.h"

namespace weft::data {

// The first row names the columns; a tab in it makes the file a TSV. A CSV is as RFC 4180 says:
// a field in quotes may hold commas, doubled quotes and newlines. In a TSV quotes count only around
// a whole field, since texts in such files often begin with one. Blank lines are no rows.
class TableReader {
 public:
  static Result<TableReader> open(const std::string& path);

  const std::vector<std::string>& columns() const { return columns_; }
  // The place of a column; fails with the list of those that there are.
  Result<size_t> column(std::string_view name) const;

  // False at the end. Fails on a row with more or fewer fields than the header.
  Result<bool> next();
  const std::vector<std::string>& fields() const { return fields_; }  // of the row `next` read
  Loc loc() const { return file_loc(lines_.path(), row_line_); }      // of that row

 private:
  explicit TableReader(LineReader lines) : lines_(std::move(lines)) {}

  Result<bool> read_row();
  Status read_csv_row(std::string_view line);
  Result<std::string_view> read_quoted(std::string_view rest);  // what follows the closing quote
  void read_tsv_row(std::string_view line);
  std::string& new_field();

  LineReader lines_;
  bool tabs_ = false;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;  // kept from row to row, with their memory
  size_t used_ = 0;                  // of them
  int64_t row_line_ = 0;             // where the row begins
};

}  // namespace weft::data
