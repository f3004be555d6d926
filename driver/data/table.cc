// SPDX-License-Identifier: Apache-2.0
#include "driver/data/table.h"

#include <algorithm>

namespace weft::data {
namespace {

constexpr size_t kMaxShownColumns = 20;

std::string list_of(const std::vector<std::string>& columns) {
  std::string text;
  for (size_t i = 0; i < columns.size() && i < kMaxShownColumns; ++i) {
    text += (i == 0 ? "'" : ", '") + columns[i] + "'";
  }
  if (columns.size() > kMaxShownColumns) {
    text += cat(" and ", columns.size() - kMaxShownColumns, " more");
  }
  return text;
}

// Whether a field of a TSV is quoted as a whole; then `text` becomes what was quoted.
bool unquote(std::string_view field, std::string& text) {
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return false;
  field = field.substr(1, field.size() - 2);
  text.clear();
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '"' && (++i == field.size() || field[i] != '"')) return false;
    text += field[i];
  }
  return true;
}

}  // namespace

Result<TableReader> TableReader::open(const std::string& path) {
  WEFT_TRY(LineReader lines, LineReader::open(path));
  TableReader reader(std::move(lines));
  Line header;
  bool some = true;
  do {
    WEFT_TRY(some, reader.lines_.next(header));
  } while (some && header.text.empty());
  if (!some)
    return error(file_loc(path), "has no header").hint("name the columns in the first row");
  reader.row_line_ = reader.lines_.line();
  reader.tabs_ = header.text.find('\t') != std::string_view::npos;
  if (reader.tabs_) {
    reader.read_tsv_row(header.text);
  } else {
    WEFT_TRY_STATUS(reader.read_csv_row(header.text));
  }
  reader.columns_.assign(reader.fields_.begin(), reader.fields_.begin() + reader.used_);
  return reader;
}

Result<size_t> TableReader::column(std::string_view name) const {
  auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) {
    return error(file_loc(lines_.path(), 1), "there is no column '", name, "': the header has ",
                 list_of(columns_))
        .hint(did_you_mean(name, columns_));
  }
  if (std::find(found + 1, columns_.end(), name) != columns_.end()) {
    return error(file_loc(lines_.path(), 1), "there is more than one column '", name, "'");
  }
  return static_cast<size_t>(found - columns_.begin());
}

Result<bool> TableReader::next() {
  WEFT_TRY(bool some, read_row());
  if (!some) return false;
  if (used_ != columns_.size()) {
    return error(loc(), "the row has ", used_, " fields, the header ", columns_.size())
        .hint(tabs_ ? "separate the fields by tabs"
                    : "put fields with commas or newlines in quotes");
  }
  fields_.resize(used_);
  return true;
}

Result<bool> TableReader::read_row() {
  Line line;
  do {
    WEFT_TRY(bool some, lines_.next(line));
    if (!some) return false;
  } while (line.text.empty());
  row_line_ = lines_.line();
  if (tabs_) {
    read_tsv_row(line.text);
  } else {
    WEFT_TRY_STATUS(read_csv_row(line.text));
  }
  return true;
}

std::string& TableReader::new_field() {
  if (used_ == fields_.size()) fields_.emplace_back();
  fields_[used_].clear();
  return fields_[used_++];
}

void TableReader::read_tsv_row(std::string_view line) {
  used_ = 0;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find('\t', begin), line.size());
    std::string_view field = line.substr(begin, end - begin);
    std::string& text = new_field();
    if (!unquote(field, text)) text = field;
    begin = end + 1;
  }
}

Status TableReader::read_csv_row(std::string_view line) {
  used_ = 0;
  for (std::string_view rest = line;;) {
    if (!rest.empty() && rest.front() == '"') {
      WEFT_TRY(rest, read_quoted(rest.substr(1)));
      if (rest.empty()) return ok();
      if (rest.front() != ',') {
        return error(lines_.loc(), "text after the closing quote of field ", used_)
            .hint("write a quote within a quoted field twice");
      }
    } else {
      size_t end = std::min(rest.find(','), rest.size());
      new_field() = rest.substr(0, end);
      if (end == rest.size()) return ok();
      rest.remove_prefix(end);
    }
    rest.remove_prefix(1);  // the comma
  }
}

Result<std::string_view> TableReader::read_quoted(std::string_view rest) {
  std::string& text = new_field();
  for (;;) {
    size_t quote = rest.find('"');
    if (quote != std::string_view::npos) {
      text += rest.substr(0, quote);
      rest.remove_prefix(quote + 1);
      if (rest.empty() || rest.front() != '"') return rest;
      text += '"';
      rest.remove_prefix(1);
      continue;
    }
    text += rest;
    text += '\n';
    Line line;
    WEFT_TRY(bool some, lines_.next(line));
    if (!some || text.size() > kMaxLineBytes) {
      return error(loc(), "the quote of field ", used_, " is never closed");
    }
    rest = line.text;
  }
}

}  // namespace weft::data
