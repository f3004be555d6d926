// SPDX-License-Identifier: Apache-2.0
#include "driver/data/rows.h"

#include <charconv>
#include <cmath>

#include "driver/data/table.h"
#include "driver/data/utf8.h"

namespace weft::data {
namespace {

constexpr size_t kMaxClasses = 65536;

class PairRows final : public RowReader {
 public:
  PairRows(LineReader source, LineReader target)
      : source_(std::move(source)), target_(std::move(target)) {}

  Result<bool> next(Row& row) override {
    Line source;
    Line target;
    WEFT_TRY(bool more_source, source_.next(source));
    WEFT_TRY(bool more_target, target_.next(target));
    if (more_source != more_target) return misaligned(more_source);
    row.text = source.text;
    row.target = target.text;
    return more_source;
  }
  Loc loc() const override { return source_.loc(); }

 private:
  // Counts the lines of the longer file to the end.
  Error misaligned(bool source_is_longer) {
    LineReader& longer = source_is_longer ? source_ : target_;
    Line line;
    for (;;) {
      Result<bool> more = longer.next(line);
      if (!more.ok()) return std::move(more).take_error();
      if (!*more) break;
    }
    return error(file_loc(source_.path()), "has ", source_.line(), " lines, but ", target_.path(),
                 " has ", target_.line())
        .hint("line N of the one has to be the translation of line N of the other");
  }

  LineReader source_;
  LineReader target_;
};

class TextRows final : public RowReader {
 public:
  explicit TextRows(LineReader lines) : lines_(std::move(lines)) {}

  Result<bool> next(Row& row) override {
    Line line;
    WEFT_TRY(bool more, lines_.next(line));
    if (!more) return false;
    text_ = line.text;
    if (line.ended) text_ += '\n';
    row.text = text_;
    return true;
  }
  Loc loc() const override { return lines_.loc(); }

 private:
  LineReader lines_;
  std::string text_;
};

class TableRows final : public RowReader {
 public:
  TableRows(TableReader table, size_t label, size_t text)
      : table_(std::move(table)), label_(label), text_(text) {}

  Result<bool> next(Row& row) override {
    WEFT_TRY(bool more, table_.next());
    if (!more) return false;
    row.label = table_.fields()[label_];
    if (row.label.empty()) {
      return error(loc(), "the label is empty: column '", table_.columns()[label_], "'");
    }
    if (text_ != kPixels) {
      row.text = table_.fields()[text_];
      return true;
    }
    WEFT_TRY_STATUS(read_pixels());
    row.pixels = pixels_;
    return true;
  }
  Loc loc() const override { return table_.loc(); }

  static constexpr size_t kPixels = std::numeric_limits<size_t>::max();

 private:
  Status read_pixels() {
    pixels_.clear();
    for (size_t i = 0; i < table_.fields().size(); ++i) {
      if (i == label_) continue;
      const std::string& field = table_.fields()[i];
      float value = 0;
      const char* end = field.data() + field.size();
      auto [at, failure] = std::from_chars(field.data(), end, value);
      if (failure != std::errc() || at != end || !std::isfinite(value)) {
        return error(loc(), "'", field, "' in column '", table_.columns()[i], "' is not a number");
      }
      pixels_.push_back(value);
    }
    return ok();
  }

  TableReader table_;
  size_t label_;
  size_t text_;  // kPixels: all columns but the label
  std::vector<float> pixels_;
};

// The rows of a part; of a text, pieces are cut where the part begins and ends.
class PartRows final : public RowReader {
 public:
  PartRows(std::unique_ptr<RowReader> all, Part part, bool characters)
      : all_(std::move(all)), part_(part), characters_(characters) {}

  Result<bool> next(Row& row) override {
    for (;;) {
      if (at_ >= part_.end) return false;
      WEFT_TRY(bool more, all_->next(row));
      if (!more) return false;
      int64_t begin = at_;
      at_ += characters_ ? count_code_points(row.text) : 1;
      if (at_ <= part_.begin) continue;
      if (at_ > part_.end) {
        row.text = row.text.substr(0, bytes_of_code_points(row.text, part_.end - begin));
      }
      if (begin < part_.begin) {
        row.text.remove_prefix(bytes_of_code_points(row.text, part_.begin - begin));
      }
      return true;
    }
  }
  Loc loc() const override { return all_->loc(); }

 private:
  std::unique_ptr<RowReader> all_;
  Part part_;
  bool characters_;
  int64_t at_ = 0;
};

using RowsResult = Result<std::unique_ptr<RowReader>>;

RowsResult open_pairs(const TaskFiles& files) {
  WEFT_TRY(LineReader source, LineReader::open(files.source));
  WEFT_TRY(LineReader target, LineReader::open(files.target));
  return std::unique_ptr<RowReader>(
      std::make_unique<PairRows>(std::move(source), std::move(target)));
}

RowsResult open_table(const TaskOptions& options, const TaskFiles& files) {
  WEFT_TRY(TableReader table, TableReader::open(files.table));
  WEFT_TRY(size_t label, table.column(options.label_column));
  size_t text = TableRows::kPixels;
  if (options.kind == TaskKind::text_classification) {
    WEFT_TRY(text, table.column(options.text_column));
  } else {
    int64_t pixels = options.image_height * options.image_width * options.image_channels;
    auto columns = static_cast<int64_t>(table.columns().size()) - 1;
    if (columns != pixels) {
      return error(file_loc(files.table, 1), "an image of ", options.image_height, "x",
                   options.image_width, "x", options.image_channels, " has ", pixels,
                   " numbers, but there are ", columns, " columns beside '", options.label_column,
                   "'");
    }
  }
  return std::unique_ptr<RowReader>(std::make_unique<TableRows>(std::move(table), label, text));
}

RowsResult open_all(const TaskOptions& options, const TaskFiles& files) {
  switch (options.kind) {
    case TaskKind::translation: return open_pairs(files);
    case TaskKind::language_model: {
      WEFT_TRY(LineReader lines, LineReader::open(files.text, LineReader::Long::split));
      return std::unique_ptr<RowReader>(std::make_unique<TextRows>(std::move(lines)));
    }
    default: return open_table(options, files);
  }
}

}  // namespace

RowsResult open_rows(const TaskOptions& options, const TaskFiles& files, Part part) {
  WEFT_TRY(auto all, open_all(options, files));
  bool characters = options.kind == TaskKind::language_model;
  return std::unique_ptr<RowReader>(std::make_unique<PartRows>(std::move(all), part, characters));
}

const std::string& main_file(TaskKind kind, const TaskFiles& files) {
  switch (kind) {
    case TaskKind::translation: return files.source;
    case TaskKind::language_model: return files.text;
    default: return files.table;
  }
}

Result<Survey> survey(const TaskOptions& options, const TaskFiles& files) {
  WEFT_TRY(auto rows, open_rows(options, files));
  Survey found;
  std::string last;  // most labels are in the set already
  for (Row row;;) {
    WEFT_TRY(bool more, rows->next(row));
    if (!more) break;
    found.size += options.kind == TaskKind::language_model ? count_code_points(row.text) : 1;
    found.text_bytes += static_cast<int64_t>(row.text.size() + row.target.size());
    if (row.label.empty() || row.label == last) continue;
    last = row.label;
    found.labels.insert(last);
    if (found.labels.size() > kMaxClasses) {
      return error(rows->loc(), "the column '", options.label_column, "' has more than ",
                   kMaxClasses, " different labels")
          .hint("name the column with the classes: --label-column");
    }
  }
  if (found.size == 0) return error(file_loc(main_file(options.kind, files)), "has no rows");
  return found;
}

}  // namespace weft::data
