// SPDX-License-Identifier: Apache-2.0
#include "ir/text/lexer.h"

namespace weft {
namespace {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescape(std::string_view body) {
  std::string out;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    switch (body[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'x':
        out += static_cast<char>(hex_digit(body[i + 1]) * 16 + hex_digit(body[i + 2]));
        i += 2;
        break;
      default: out += body[i];
    }
  }
  return out;
}

}  // namespace

std::string Token::name() const {
  std::string_view name = text;
  if (kind == Kind::value || kind == Kind::storage) name.remove_prefix(1);
  if (name.size() < 2 || name.front() != '"') return std::string(name);
  return unescape(name.substr(1, name.size() - 2));
}

Lexer::Lexer(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) offset_ = line_begin_ = 3;  // a byte order mark
}

bool Lexer::skip_space() {
  while (offset_ < text_.size()) {
    char c = text_[offset_];
    if (c == '\n') {
      ++line_;
      line_begin_ = ++offset_;
      starts_line_ = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++offset_;
    } else if (c == '/' && at(offset_ + 1) == '/') {
      offset_ = text_.find('\n', offset_);
      if (offset_ == std::string_view::npos) offset_ = text_.size();
    } else {
      return true;
    }
  }
  return false;
}

Token Lexer::token(Token::Kind kind, size_t length, std::string_view problem) {
  Token token;
  token.kind = kind;
  token.starts_line = starts_line_;
  token.text = text_.substr(offset_, length);
  token.place = {line_, static_cast<uint32_t>(offset_ - line_begin_ + 1),
                 static_cast<uint32_t>(length)};
  token.problem = problem;
  offset_ += length;
  starts_line_ = false;
  return token;
}

Token Lexer::next() {
  if (!skip_space()) return token(Token::Kind::end, 0);
  char c = text_[offset_];
  if (c == '"') return string(Token::Kind::string, 0);
  if (is_digit(c)) return number();
  bool sigil = c == '%' || c == '@';
  if (!sigil && (!is_name_char(c) || c == '.')) return punct();
  Token::Kind kind = !sigil     ? Token::Kind::word
                     : c == '%' ? Token::Kind::value
                                : Token::Kind::storage;
  if (sigil && at(offset_ + 1) == '"') return string(kind, 1);
  size_t length = 1;
  while (is_name_char(at(offset_ + length))) ++length;
  if (sigil && (length == 1 || at(offset_ + 1) == '.')) {
    return token(Token::Kind::bad, length, "a name is missing here");
  }
  return token(kind, length);
}

Token Lexer::string(Token::Kind kind, size_t sigil) {
  size_t length = sigil + 1;
  std::string_view problem;
  for (;; ++length) {
    char c = at(offset_ + length);
    if (offset_ + length >= text_.size() || c == '\n') {
      return token(Token::Kind::bad, length, "a string that does not end on its line");
    }
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      problem = "a control character in a string";
    }
    if (c != '\\') continue;
    char escaped = at(offset_ + ++length);
    if (escaped == 'x') {
      int high = hex_digit(at(offset_ + length + 1));
      int low = hex_digit(at(offset_ + length + 2));
      if (high < 0 || high > 7 || low < 0) {
        problem = "\\x needs two hex digits from 00 to 7f; other characters are written as UTF-8";
      } else {
        length += 2;
      }
    } else if (escaped == '\n' || escaped == '\0') {
      return token(Token::Kind::bad, length, "a string that does not end on its line");
    } else if (escaped != '"' && escaped != '\\' && escaped != 'n' && escaped != 't') {
      problem = "an unknown escape in a string: it knows \\\" \\\\ \\n \\t \\xNN";
    }
  }
  ++length;
  if (problem.empty() && sigil == 1 && length == 3) problem = "a name is missing here";
  return token(problem.empty() ? kind : Token::Kind::bad, length, problem);
}

Token Lexer::number() {
  size_t length = 0;
  auto digits = [&] {
    while (is_digit(at(offset_ + length))) ++length;
  };
  digits();
  bool real = false;
  if (at(offset_ + length) == '.' && is_digit(at(offset_ + length + 1))) {
    real = true;
    ++length;
    digits();
  }
  char e = at(offset_ + length);
  if (e == 'e' || e == 'E') {
    char sign = at(offset_ + length + 1);
    size_t skip = sign == '+' || sign == '-' ? 2 : 1;
    if (is_digit(at(offset_ + length + skip))) {
      real = true;
      length += skip;
      digits();
    }
  }
  char after = at(offset_ + length);
  bool range = after == '.' && at(offset_ + length + 1) == '.';  // 1..512
  if (!is_name_char(after) || range) {
    return token(real ? Token::Kind::real : Token::Kind::integer, length);
  }
  while (is_name_char(at(offset_ + length))) ++length;
  return token(Token::Kind::bad, length, "a malformed number");
}

Token Lexer::punct() {
  std::string_view rest = text_.substr(offset_);
  for (std::string_view two : {"->", "==", ".."}) {
    if (rest.starts_with(two)) return token(Token::Kind::punct, 2);
  }
  if (std::string_view("{}()[],:=+-*/").find(rest[0]) != std::string_view::npos) {
    return token(Token::Kind::punct, 1);
  }
  size_t length = 1;  // the whole of a UTF-8 sequence
  while ((at(offset_ + length) & 0xc0) == 0x80) ++length;
  return token(Token::Kind::bad, length, "an unexpected character");
}

}  // namespace weft
