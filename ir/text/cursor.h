// Where the parser stands in a file, and the errors it has met.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/result.h"
#include "ir/text/lexer.h"

namespace weft {

// What a cursor needs of a file: not too large, and valid UTF-8.
Status check_text(const std::shared_ptr<const SourceText>& source);

class Cursor {
 public:
  explicit Cursor(std::shared_ptr<const SourceText> source);

  const Token& peek() const { return token_; }
  Token take();
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool at(std::string_view spelling) const { return token_.is(spelling); }
  bool at_end() const { return at(Token::Kind::end); }
  // The current token goes on with the line of the one before it.
  bool same_line() const { return !token_.starts_line && !at_end(); }
  bool take_if(std::string_view spelling);
  // Takes it, or reports what stands there instead.
  bool expect(std::string_view spelling);
  // Past this line, to the next one that begins with one of the words, or (`values`) with a %name.
  void skip_to_line(std::initializer_list<std::string_view> words, bool values);
  // Past this line and, if a body opens at its end, past that too.
  void skip_body();
  // To the next ',' outside brackets, or to `closing`, or to a line that begins with a %name.
  void skip_to_comma(std::string_view closing);

  Loc loc(const Place& place) const;
  Loc here() const { return loc(token_.place); }
  Lexer look_ahead() const { return lexer_; }  // behind the current token

  // After the last error that is shown, everything reads as the end of the file.
  void fail(Error&& error);
  void fail_and_stop(Error&& error);
  void unexpected(std::string_view expected);  // once per place
  // For a list that has `count` of them by now: false, and nothing more is read, at the limit.
  bool room_for(size_t limit, size_t count, std::string_view what);
  // The file ends inside something; reported for the innermost only.
  void cut_short(const std::string& what, const Place& opened);
  bool failed() const { return !errors_.empty(); }
  Error take_errors();  // in the order of the file

 private:
  bool first_here();

  std::shared_ptr<const SourceText> source_;  // shared with every Loc
  Lexer lexer_;
  Token token_;
  Diagnostics errors_;
  Place unexpected_;  // where something unexpected was last reported
  bool stopped_ = false;
};

// All of `text` by one function of a cursor. The text is valid UTF-8.
template <class T, class ParseFn>
Result<T> parse_alone(const std::string& file, std::string text, ParseFn parse_fn) {
  Cursor in(std::make_shared<const SourceText>(SourceText{file, std::move(text)}));
  std::optional<T> value = parse_fn(in);
  if (!in.failed() && !in.at_end()) in.unexpected("the end");
  if (in.failed()) return in.take_errors();
  return *std::move(value);
}

// A token's text for a message, cut if it is long.
std::string shown(std::string_view text);

}  // namespace weft
