// SPDX-License-Identifier: Apache-2.0
#include "ir/text/parse_init.h"

#include "ir/text/parse_type.h"

namespace weft {
namespace {

constexpr Init::Kind kKinds[] = {Init::zeros,   Init::ones,   Init::constant,
                                 Init::uniform, Init::normal, Init::xavier_uniform};

// "zeros", "normal": what Init::str() writes, without the argument.
std::string word_of(Init::Kind kind) {
  std::string text = Init{kind, 0}.str();
  return text.substr(0, text.find('('));
}

bool has_argument(Init::Kind kind) { return Init{kind, 0}.str().ends_with(')'); }

Error unknown(const Loc& loc, std::string_view word) {
  std::vector<std::string> known;
  std::string list;
  for (Init::Kind kind : kKinds) {
    known.push_back(word_of(kind));
    list += (list.empty() ? "" : ", ") + known.back() + (has_argument(kind) ? "(x)" : "");
  }
  std::string hint = did_you_mean(word, known);
  return error(loc, "unknown initial value '", shown(word), "'")
      .hint(hint.empty() ? "write one of " + list : hint);
}

}  // namespace

std::optional<Init> parse_init(Cursor& in) {
  if (!in.at(Token::Kind::word)) {
    in.unexpected("an initial value such as zeros or normal(0.02)");
    return std::nullopt;
  }
  Token word = in.take();
  for (Init::Kind kind : kKinds) {
    if (!word.is(word_of(kind))) continue;
    if (!has_argument(kind)) return Init{kind, 0};
    if (!in.expect("(")) return std::nullopt;
    std::optional<Number> number = parse_number(in);
    if (!number || !in.expect(")")) return std::nullopt;
    return Init{kind, number->value};
  }
  in.fail(unknown(in.loc(word.place), word.text));
  return std::nullopt;
}

Result<Init> parse_init(const std::string& file, std::string text) {
  return parse_alone<Init>(file, std::move(text), [](Cursor& in) { return parse_init(in); });
}

}  // namespace weft
