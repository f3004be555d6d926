// Splits the text form into tokens, one at a time, so that memory does not grow with the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

// A Loc without its file.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;
};

struct Token {
  enum class Kind : uint8_t { end, bad, word, value, storage, integer, real, string, punct };
  Kind kind = Kind::end;
  bool starts_line = false;  // the first one on its line
  std::string_view text;     // as in the file, with sigil and quotes
  Place place;
  std::string_view problem;  // of a bad one: why

  bool is(std::string_view spelling) const {
    return (kind == Kind::word || kind == Kind::punct) && text == spelling;
  }
  // The contents of a string; the name of a value or of storage, without the sigil.
  std::string name() const;
};

class Lexer {
 public:
  // `text` is valid UTF-8 and outlives the lexer and its tokens.
  explicit Lexer(std::string_view text);
  Token next();

 private:
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  bool skip_space();
  Token token(Token::Kind kind, size_t length, std::string_view problem = {});
  Token string(Token::Kind kind, size_t sigil);
  Token number();
  Token punct();

  std::string_view text_;
  size_t offset_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
  bool starts_line_ = true;
};

}  // namespace weft
