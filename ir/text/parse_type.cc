// SPDX-License-Identifier: Apache-2.0
#include "ir/text/parse_type.h"

#include <charconv>
#include <limits>

#include "ir/text/names.h"

namespace weft {
namespace {

// The token's value with its sign, so that the lowest integer can be written.
std::optional<int64_t> integer_of(Cursor& in, const Token& token, bool negative) {
  uint64_t magnitude = 0;
  const char* end = token.text.data() + token.text.size();
  auto [stop, status] = std::from_chars(token.text.data(), end, magnitude);
  uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
  if (status != std::errc() || magnitude > limit) {
    in.fail(error(in.loc(token.place), "integer ", negative ? "-" : "", shown(token.text),
                  " is out of the range of 64 bits"));
    return std::nullopt;
  }
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> real_of(Cursor& in, const Token& token) {
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  auto [stop, status] = std::from_chars(token.text.data(), end, value);
  if (status != std::errc()) {
    in.fail(error(in.loc(token.place), "number ", shown(token.text), " is out of the range of f64")
                .hint("write inf or 0.0"));
    return std::nullopt;
  }
  return value;
}

// sum     := ['-'] product (('+' | '-') product)*
// product := factor (('*' | '/') factor)*
// factor  := integer | symbol | ('min' | 'max' | 'mod') '(' sum ',' sum ')' | '(' sum ')'
// A sign belongs to the whole product: -T/2 is -(T/2).
class DimParser {
 public:
  explicit DimParser(Cursor& in) : in_(in) {}

  std::optional<Dim> sum() {
    if (++depth_ > kMaxNesting) {
      in_.fail(error(in_.here(), "dim nested deeper than ", kMaxNesting, " parentheses"));
      return std::nullopt;
    }
    std::optional<Dim> total = product(in_.take_if("-"));
    while (total && (in_.at("+") || in_.at("-"))) {
      std::optional<Dim> next = product(in_.take().is("-"));
      if (next) total = *total + *next;
      if (!next) total.reset();
    }
    --depth_;
    return total;
  }

 private:
  std::optional<Dim> product(bool negative) {
    // A number takes the sign at once: its magnitude alone may be out of range.
    bool number = in_.at(Token::Kind::integer);
    std::optional<Dim> total = factor(number && negative);
    bool signed_already = number && negative;
    while (total && (in_.at("*") || in_.at("/"))) {
      bool divide = in_.at("/");
      if (divide && signed_already) {  // -7/2 is -(7/2)
        total = Dim(-1) * *total;
        signed_already = false;
      }
      in_.take();
      std::optional<Dim> next = factor(false);
      if (!next) return std::nullopt;
      total = divide ? Dim::floor_div(*total, *next) : *total * *next;
    }
    if (total && negative && !signed_already) total = Dim(-1) * *total;
    return total;
  }

  std::optional<Dim> factor(bool negative) {
    if (in_.at(Token::Kind::integer)) {
      std::optional<int64_t> value = integer_of(in_, in_.peek(), negative);
      in_.take();
      return value ? std::optional(Dim(*value)) : std::nullopt;
    }
    if (in_.take_if("(")) {
      std::optional<Dim> inner = sum();
      return inner && in_.expect(")") ? inner : std::nullopt;
    }
    if (!in_.at(Token::Kind::word) || !is_symbol(in_.peek().text)) {
      in_.unexpected("a dim (a number, a symbol or an expression)");
      return std::nullopt;
    }
    Token name = in_.take();
    bool known = name.is("min") || name.is("max") || name.is("mod");
    if (!known || !in_.at("(")) return Dim::symbol(std::string(name.text));
    in_.take();
    std::optional<Dim> a = sum();
    if (!a || !in_.expect(",")) return std::nullopt;
    std::optional<Dim> b = sum();
    if (!b || !in_.expect(")")) return std::nullopt;
    return name.is("min") ? Dim::min(*a, *b) : name.is("max") ? Dim::max(*a, *b) : Dim::mod(*a, *b);
  }

  Cursor& in_;
  size_t depth_ = 0;
};

}  // namespace

bool at_number(const Cursor& in) {
  return in.at(Token::Kind::integer) || in.at(Token::Kind::real) || in.at("-") || in.at("inf") ||
         in.at("nan");
}

std::optional<Number> parse_number(Cursor& in) {
  bool negative = in.take_if("-");
  Number number;
  number.real = true;
  if (in.at("inf") || in.at("nan")) {
    number.value = in.take().is("inf") ? std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN();
    if (negative) number.value = -number.value;
    return number;
  }
  if (in.at(Token::Kind::real)) {
    std::optional<double> value = real_of(in, in.take());
    if (!value) return std::nullopt;
    number.value = negative ? -*value : *value;
    return number;
  }
  if (!in.at(Token::Kind::integer)) {
    in.unexpected("a number");
    return std::nullopt;
  }
  std::optional<int64_t> value = integer_of(in, in.peek(), negative);
  in.take();
  if (!value) return std::nullopt;
  number.integer = *value;
  number.real = negative && *value == 0;  // only a real has a negative zero
  number.value = number.real ? -0.0 : static_cast<double>(*value);
  return number;
}

std::optional<int64_t> parse_integer(Cursor& in) {
  bool negative = in.take_if("-");
  if (!in.at(Token::Kind::integer)) {
    in.unexpected("an integer");
    return std::nullopt;
  }
  std::optional<int64_t> value = integer_of(in, in.peek(), negative);
  in.take();
  return value;
}

std::optional<Dim> parse_dim(Cursor& in) {
  Place begin = in.peek().place;
  std::optional<Dim> dim = DimParser(in).sum();
  if (dim && dim->overflowed()) {
    in.fail(
        error(in.loc(begin), "dim divides by zero, leaves the range of 64 bits or is too large"));
    return std::nullopt;
  }
  return dim;
}

std::optional<DType> parse_dtype(Cursor& in) {
  if (!in.at(Token::Kind::word)) {
    in.unexpected("an element type");
    return std::nullopt;
  }
  Token token = in.take();
  std::optional<DType> dtype = parse_dtype(token.text);
  if (!dtype) {
    in.fail(error(in.loc(token.place), "unknown element type '", shown(token.text), "'")
                .hint(did_you_mean(token.text, dtype_names())));
  }
  return dtype;
}

std::optional<Type> parse_type(Cursor& in) {
  Place begin = in.peek().place;
  std::optional<DType> dtype = parse_dtype(in);
  if (!dtype || !in.expect("[")) return std::nullopt;
  Type type{*dtype, {}};
  while (!in.at("]")) {
    if (!type.shape.empty() && !in.expect(",")) return std::nullopt;
    Place place = in.peek().place;
    std::optional<Dim> dim = parse_dim(in);
    if (!dim) return std::nullopt;
    if (dim->is_constant() && dim->constant() < 0) {
      in.fail(error(in.loc(place), "size ", *dim, " is negative"));
      return std::nullopt;
    }
    type.shape.push_back(std::move(*dim));
    if (type.rank() > kMaxRank) {
      in.fail(error(in.loc(begin), "a type has at most ", kMaxRank, " axes"));
      return std::nullopt;
    }
  }
  in.take();
  return type;
}

Result<Dim> parse_dim(const std::string& file, std::string text) {
  return parse_alone<Dim>(file, std::move(text), [](Cursor& in) { return parse_dim(in); });
}

}  // namespace weft
