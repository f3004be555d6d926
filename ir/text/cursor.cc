// SPDX-License-Identifier: Apache-2.0
#include "ir/text/cursor.h"

#include <algorithm>

#include "ir/support/file.h"
#include "ir/text/names.h"

namespace weft {
namespace {

constexpr size_t kMaxShown = 40;

// The one error of a file that is not text.
Error not_text(const std::shared_ptr<const SourceText>& source, size_t offset) {
  static constexpr char kHex[] = "0123456789abcdef";
  uint32_t line = 1;
  size_t begin = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (source->text[i] == '\n') {
      ++line;
      begin = i + 1;
    }
  }
  auto byte = static_cast<unsigned char>(source->text[offset]);
  std::string hex = {kHex[byte >> 4], kHex[byte & 15]};
  return error(Loc{source, line, static_cast<uint32_t>(offset - begin + 1), 1}, "byte ", offset,
               " (0x", hex, ") is not valid UTF-8");
}

}  // namespace

Status check_text(const std::shared_ptr<const SourceText>& source) {
  if (source->text.size() > kMaxModuleBytes) {
    return error(Loc{source, 0, 0, 0}, "the file has ", source->text.size(),
                 " bytes, more than the limit of ", kMaxModuleBytes);
  }
  size_t valid = utf8_prefix(source->text);
  if (valid < source->text.size()) return not_text(source, valid);
  return ok();
}

std::string shown(std::string_view text) {
  if (text.size() <= kMaxShown) return std::string(text);
  size_t whole = utf8_prefix(text.substr(0, kMaxShown));
  return std::string(text.substr(0, whole)) + "...";
}

Cursor::Cursor(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), lexer_(source_->text) {
  take();
}

Token Cursor::take() {
  Token taken = token_;
  if (stopped_) return taken;
  token_ = lexer_.next();
  if (!at(Token::Kind::bad)) return taken;
  std::string text = shown(token_.text);
  fail(error(here(), token_.problem, text.empty() ? "" : ": ", text));
  return taken;
}

bool Cursor::take_if(std::string_view spelling) {
  if (!at(spelling)) return false;
  take();
  return true;
}

bool Cursor::expect(std::string_view spelling) {
  if (take_if(spelling)) return true;
  unexpected(cat("'", spelling, "'"));
  return false;
}

void Cursor::skip_to_line(std::initializer_list<std::string_view> words, bool values) {
  auto begins = [&] {
    if (!token_.starts_line) return false;
    if (values && at(Token::Kind::value)) return true;
    for (std::string_view word : words) {
      if (at(word)) return true;
    }
    return false;
  };
  while (!at_end() && !begins()) take();
}

void Cursor::skip_body() {
  bool opened = false;
  while (same_line()) opened = take().is("{");
  for (size_t depth = opened ? 1 : 0; depth > 0 && !at_end();) {
    Token token = take();
    if (token.is("{")) ++depth;
    if (token.is("}")) --depth;
  }
}

void Cursor::skip_to_comma(std::string_view closing) {
  size_t depth = 0;
  while (!at_end() && !(token_.starts_line && at(Token::Kind::value))) {
    if (depth == 0 && (at(",") || at(closing))) return;
    if (at("(") || at("[") || at("{")) ++depth;
    if (depth > 0 && (at(")") || at("]") || at("}"))) --depth;
    take();
  }
}

Loc Cursor::loc(const Place& place) const {
  return Loc{source_, place.line, place.column, place.length};
}

void Cursor::fail(Error&& error) {
  for (Diagnostic& diagnostic : std::move(error).take()) {
    if (stopped_) return;
    if (errors_.size() < kMaxErrors) {
      errors_.push_back(std::move(diagnostic));
      continue;
    }
    fail_and_stop(weft::error(diagnostic.loc, "more than ", kMaxErrors,
                              " errors: the rest of the file was not checked"));
  }
}

void Cursor::fail_and_stop(Error&& error) {
  if (stopped_) return;
  for (Diagnostic& diagnostic : std::move(error).take()) errors_.push_back(std::move(diagnostic));
  stopped_ = true;
  token_.kind = Token::Kind::end;
  token_.text = {};
}

bool Cursor::room_for(size_t limit, size_t count, std::string_view what) {
  if (count < limit) return true;
  fail_and_stop(error(here(), "more than ", limit, " ", what));
  return false;
}

bool Cursor::first_here() {
  const Place& place = token_.place;
  if (place.line == unexpected_.line && place.column == unexpected_.column) return false;
  unexpected_ = place;
  return true;
}

void Cursor::cut_short(const std::string& what, const Place& opened) {
  if (!first_here()) return;
  fail(error(here(), "the file ends inside ", what)
           .note(loc(opened), what + " begins here")
           .hint("close it with '}'"));
}

Error Cursor::take_errors() {
  // A statement is checked when the token behind it has been read, and may have been reported.
  auto before = [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.loc.line, a.loc.column) < std::pair(b.loc.line, b.loc.column);
  };
  std::stable_sort(errors_.begin(), stopped_ ? errors_.end() - 1 : errors_.end(), before);
  return Error(std::move(errors_));
}

void Cursor::unexpected(std::string_view expected) {
  if (at(Token::Kind::bad)) return;  // reported when it was read
  if (!first_here()) return;
  if (at_end()) return fail(error(here(), "expected ", expected, ", found the end of the file"));
  fail(error(here(), "expected ", expected, ", found '", shown(token_.text), "'"));
}

}  // namespace weft
