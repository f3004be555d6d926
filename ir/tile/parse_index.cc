// The parser of Tile programs: indices.
// SPDX-License-Identifier: Apache-2.0
#include "ir/text/names.h"
#include "ir/tile/parse_kernel.h"

namespace weft::tile {
namespace {

constexpr size_t kMaxIndexTerms = 64;

}  // namespace

// sum     := ['-'] product (('+' | '-') product)*
// product := factor (('*' | '/') factor)*
// factor  := integer | dim | axis | axis.base | axis.end | axis.program | %value
//          | ('mod' | 'min' | 'max') '(' sum ',' sum ')' | '(' sum ')'
std::optional<Index> KernelParser::index() {
  if (++depth_ > kMaxNesting) {
    in_.fail_and_stop(error(in_.here(), "index nested deeper than ", kMaxNesting, " parentheses"));
    return std::nullopt;
  }
  Place begin = in_.peek().place;
  std::optional<Index> total = index_product(in_.take_if("-"));
  while (total && (in_.at("+") || in_.at("-"))) {
    std::optional<Index> next = index_product(in_.take().is("-"));
    if (next) total = *total + *next;
    if (!next) total.reset();
    if (total && !in_.room_for(kMaxIndexTerms, total->terms.size(), "terms in an index")) {
      total.reset();
    }
  }
  --depth_;
  if (total && total->offset.overflowed()) {
    in_.fail(error(in_.loc(begin), "index leaves the range of 64 bits or is too large"));
    return std::nullopt;
  }
  return total;
}

std::optional<Index> KernelParser::index_product(bool negative) {
  std::optional<Index> total = index_factor();
  while (total && (in_.at("*") || in_.at("/"))) {
    Token sign = in_.take();
    std::optional<Index> next = index_factor();
    if (!next) return std::nullopt;
    total =
        sign.is("*") ? times(*total, *next, sign.place) : over(*total, *next, sign.place, false);
  }
  if (total && negative) total = *total * Dim(-1);
  return total;
}

std::optional<Index> KernelParser::times(const Index& a, const Index& b, const Place& place) {
  if (b.terms.empty()) return a * b.offset;
  if (a.terms.empty()) return b * a.offset;
  in_.fail(error(in_.loc(place), "an index multiplies two coordinates")
               .hint("multiply by a number or a dim"));
  return std::nullopt;
}

std::optional<Index> KernelParser::over(const Index& a, const Index& b, const Place& place,
                                        bool rest) {
  if (!b.terms.empty()) {
    in_.fail(error(in_.loc(place), "an index is divided by a coordinate")
                 .hint("divide by a number or a dim"));
    return std::nullopt;
  }
  if (a.terms.empty()) {
    return Index(rest ? Dim::mod(a.offset, b.offset) : Dim::floor_div(a.offset, b.offset));
  }
  if ((b.offset.is_constant() && b.offset.constant() < 1) || b.offset.overflowed()) {
    in_.fail(
        error(in_.loc(place), "an index is divided by ", b.offset).hint("divide by 1 or more"));
    return std::nullopt;
  }
  return rest ? mod(program_, a, b.offset) : floor_div(program_, a, b.offset);
}

std::optional<Index> KernelParser::index_factor() {
  if (in_.at(Token::Kind::integer)) {
    std::optional<int64_t> number = parse_integer(in_);
    return number ? std::optional(Index(*number)) : std::nullopt;
  }
  if (in_.take_if("(")) {
    std::optional<Index> inner = index();
    return inner && in_.expect(")") ? inner : std::nullopt;
  }
  if (in_.at(Token::Kind::value)) return index_value(in_.take());
  if (!in_.at(Token::Kind::word)) {
    in_.unexpected("an index");
    return std::nullopt;
  }
  Token word = in_.take();
  if (in_.at("(") && (word.is("mod") || word.is("min") || word.is("max"))) return index_call(word);
  return index_word(word);
}

std::optional<Index> KernelParser::index_call(const Token& name) {
  in_.take();
  std::optional<Index> a = index();
  if (!a || !in_.expect(",")) return std::nullopt;
  std::optional<Index> b = index();
  if (!b || !in_.expect(")")) return std::nullopt;
  if (name.is("mod")) return over(*a, *b, name.place, true);
  if (!a->terms.empty() || !b->terms.empty()) {
    in_.fail(error(in_.loc(name.place), name.text, " of coordinates in an index")
                 .hint("use a value: minimum(coord(..), coord(..))"));
    return std::nullopt;
  }
  return Index(name.is("min") ? Dim::min(a->offset, b->offset) : Dim::max(a->offset, b->offset));
}

std::optional<Index> KernelParser::index_word(const Token& word) {
  if (auto found = axes_.find(word.text); found != axes_.end()) return axis_index(found->second);
  size_t dot = word.text.find('.');
  if (dot == std::string_view::npos) return Index(Dim::symbol(std::string(word.text)));
  std::optional<AxisId> axis = find_axis(word, word.text.substr(0, dot));
  if (!axis) return std::nullopt;
  std::string_view what = word.text.substr(dot + 1);
  if (what == "base") return base_index(*axis);
  if (what == "end") return end_index(*axis);
  if (what == "program") return program_index(*axis);
  in_.fail(error(in_.loc(word.place), "an axis has no '", shown(what), "'")
               .hint(did_you_mean(what, {"base", "end", "program"})));
  return std::nullopt;
}

std::optional<Index> KernelParser::index_value(const Token& name) {
  std::optional<ValueId> id = find_value(name);
  return id ? std::optional(value_index(*id)) : std::nullopt;
}

std::optional<Ref> KernelParser::ref() {
  if (!in_.at(Token::Kind::value)) {
    in_.unexpected("a buffer, such as %x[m, n]");
    return std::nullopt;
  }
  Token token = in_.take();
  auto found = buffers_.find(token.name());
  if (found == buffers_.end()) {
    std::vector<std::string> known;
    for (const Buffer& buffer : program_.buffers) known.push_back(buffer.name);
    in_.fail(error(in_.loc(token.place), "unknown buffer ", shown(token.text))
                 .hint(did_you_mean(token.name(), known)));
    return std::nullopt;
  }
  Ref made{found->second, {}};
  if (!in_.expect("[")) return std::nullopt;
  while (!in_.at("]")) {
    if (!made.at.empty() && !in_.expect(",")) return std::nullopt;
    if (!in_.room_for(kMaxRank, made.at.size(), "indices")) return std::nullopt;
    std::optional<Index> at = index();
    if (!at) return std::nullopt;
    made.at.push_back(*std::move(at));
  }
  in_.take();
  return made;
}

}  // namespace weft::tile
