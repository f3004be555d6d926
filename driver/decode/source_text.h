// From what people type to what a model reads: any bytes give ids, and what was done is told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "driver/decode/decoder.h"

namespace weft::decode {

struct SourceText {
  Ids ids;                            // without an end
  std::vector<std::string> warnings;  // "is not UTF-8: 2 bytes were replaced"
};

// Bytes that are not UTF-8 become U+FFFD; what is beyond `limit` tokens is left out. Never fails on
// what the text is; a tokenizer without an unknown token leaves characters out that it does not
// know.
Result<SourceText> read_source(const data::Tokenizer& tokenizer, std::string_view text,
                               int64_t limit);

// Lines of a file such as standard input, of any length: what is beyond kMaxLineBytes is left out.
class InputLines {
 public:
  explicit InputLines(int descriptor) : descriptor_(descriptor) {}

  struct Line {
    std::string text;  // without its end
    bool cut = false;  // it was longer
  };
  // False at the end.
  Result<bool> next(Line& line);
  bool has_buffered_line() const;  // `next` would not wait

 private:
  Result<bool> fill();

  int descriptor_;
  std::string buffer_;
  size_t begin_ = 0;
  bool end_ = false;
};

}  // namespace weft::decode
