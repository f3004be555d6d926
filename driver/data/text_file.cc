// SPDX-License-Identifier: Apache-2.0
#include "driver/data/text_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver/data/utf8.h"

namespace weft::data {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string in_hex(char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", static_cast<unsigned>(static_cast<uint8_t>(byte)));
  return text;
}

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

}  // namespace

Loc file_loc(const std::string& path, int64_t line, size_t column) {
  auto number = [](auto n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); };
  return {std::make_shared<const SourceText>(SourceText{path, {}}), number(line), number(column),
          0};
}

Result<LineReader> LineReader::open(const std::string& path, Long long_lines) {
  LineReader reader;
  reader.path_ = path;
  reader.long_lines_ = long_lines;
  WEFT_TRY(reader.source_, open_bytes(path));
  WEFT_TRY(bool some, reader.fill());
  if (!some) return error(file_loc(path), "is empty").hint("give a file with text");
  WEFT_TRY_STATUS(reader.check_start());
  return reader;
}

Status LineReader::check_start() {
  if (starts_with(buffer_, "\xff\xfe") || starts_with(buffer_, "\xfe\xff")) {
    return error(file_loc(path_), "is UTF-16 text, expected UTF-8")
        .hint(cat("convert it: iconv -f UTF-16 -t UTF-8 ", path_));
  }
  if (buffer_.find('\0') != std::string::npos) {
    return error(file_loc(path_), "is a binary file, expected UTF-8 text");
  }
  if (starts_with(buffer_, kByteOrderMark)) begin_ = kByteOrderMark.size();
  return ok();
}

Result<bool> LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  WEFT_TRY(size_t count, source_->read(buffer_.data() + had, kReadBytes));
  buffer_.resize(had + count);
  end_ = count == 0;
  return count > 0;
}

Status LineReader::check(std::string_view text) const {
  size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    return error(loc(zero + 1), "a zero byte: this is a binary file, expected UTF-8 text");
  }
  size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return ok();
  return error(loc(valid + 1), "byte ", in_hex(text[valid]), " is not UTF-8")
      .hint(cat("convert the file: iconv -f LATIN1 -t UTF-8 ", path_));
}

size_t LineReader::cut() const {
  std::string_view text = std::string_view(buffer_).substr(begin_, kMaxPieceBytes);
  size_t space = text.rfind(' ');
  if (space != std::string_view::npos && space > 0) return space + 1;
  size_t end = text.size();
  while (end > 1 && (static_cast<uint8_t>(buffer_[begin_ + end]) & 0xc0) == 0x80) --end;
  if (buffer_[begin_ + end - 1] == '\r' && end > 1) --end;  // a newline may follow
  return end;
}

Result<bool> LineReader::next(Line& line) {
  size_t limit = long_lines_ == Long::fail ? kMaxLineBytes : kMaxPieceBytes;
  for (size_t scanned = 0;;) {
    std::string_view rest = std::string_view(buffer_).substr(begin_);
    size_t newline = rest.find('\n', scanned);
    size_t size = std::min(newline, rest.size());
    if (newline == std::string_view::npos && size <= limit && !end_) {
      scanned = rest.size();
      WEFT_TRY([[maybe_unused]] bool more, fill());
      continue;
    }
    if (rest.empty()) return false;
    if (ended_) ++line_;
    if (size > limit) {
      if (long_lines_ == Long::fail) {
        return error(loc(), "the line is longer than ", kMaxLineBytes, " bytes")
            .hint("break the text into lines");
      }
      size = cut();
      newline = std::string_view::npos;
    }
    ended_ = newline != std::string_view::npos;
    line.ended = ended_;
    line.text = rest.substr(0, size);
    begin_ += size + (ended_ ? 1 : 0);
    if (ended_ && !line.text.empty() && line.text.back() == '\r') line.text.remove_suffix(1);
    WEFT_TRY_STATUS(check(line.text));
    return true;
  }
}

}  // namespace weft::data
