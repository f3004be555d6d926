// Text files by lines, plain or gzipped; what is not UTF-8 text is told with its place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace weft::data {

// A longer line is an error, so that memory stays bounded; text without lines is read in pieces.
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;
inline constexpr size_t kMaxPieceBytes = size_t{1} << 16;

// The place in a file that this module's errors name.
Loc file_loc(const std::string& path, int64_t line = 0, size_t column = 1);

struct Line {
  std::string_view text;  // without its end; valid until the next call
  bool ended = false;     // by a newline: the last line may have none, a piece of a line has none
};

// Bytes of a file, taken out of gzip if it is that: told by the content, not by the name.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // As many as fit and are there; 0 at the end.
  virtual Result<size_t> read(char* bytes, size_t size) = 0;
};
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
bool have_gzip();  // whether Weft was built with zlib

// Takes LF and CR LF, and leaves out a byte order mark.
class LineReader {
 public:
  enum class Long : uint8_t {
    fail,
    split,  // lines longer than kMaxPieceBytes come in pieces, cut behind a space if there is one
  };

  // Fails on what is missing, empty, no regular file, binary, or UTF-16.
  static Result<LineReader> open(const std::string& path, Long long_lines = Long::fail);

  // False at the end. Fails on long lines and on what is not UTF-8.
  Result<bool> next(Line& line);
  const std::string& path() const { return path_; }
  int64_t line() const { return line_; }  // number of the line that `next` gave last, from 1
  Loc loc(size_t column = 1) const { return file_loc(path_, line_, column); }

 private:
  Status check_start();
  Result<bool> fill();  // false at the end
  Status check(std::string_view text) const;
  size_t cut() const;  // length of the piece that a long line gives

  std::string path_;
  Long long_lines_ = Long::fail;
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t begin_ = 0;   // of what was not given yet
  bool end_ = false;   // nothing more to read
  bool ended_ = true;  // what was given last ended its line
  int64_t line_ = 0;
};

}  // namespace weft::data
