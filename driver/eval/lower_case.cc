// SPDX-License-Identifier: Apache-2.0
#include "driver/eval/lower_case.h"

#include "driver/data/utf8.h"

namespace weft::eval {
namespace {

constexpr char32_t kDottedI = 0x130;  // becomes two: i and a dot above
constexpr char32_t kDotAbove = 0x307;
constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kFinalSigma = 0x3C2;

struct Range {
  char32_t first;
  char32_t last;
  char32_t step;
  int32_t delta;

  bool holds(char32_t c) const { return c >= first && c <= last && (c - first) % step == 0; }
};

constexpr Range kRanges[] = {
#define RANGE(first, last, step, delta) {first, last, step, delta},
#include "driver/eval/lower_case.def"
#undef RANGE
};

char32_t lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  for (const Range& range : kRanges) {
    if (range.holds(c)) return static_cast<char32_t>(static_cast<int32_t>(c) + range.delta);
  }
  return c;
}

// Whether it is one of the letters that have two cases.
bool is_cased(char32_t c) {
  for (const Range& range : kRanges) {
    if (range.holds(c) || range.holds(static_cast<char32_t>(static_cast<int32_t>(c) - range.delta)))
      return true;
  }
  return c == kFinalSigma;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out;
  char32_t before = 0;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = data::next_code_point(text, at);
    char32_t made = lower(c);
    if (c == kSigma && is_cased(before)) {
      size_t next = at;
      const bool last = at == text.size() || !is_cased(data::next_code_point(text, next));
      if (last) made = kFinalSigma;
    }
    data::append_code_point(out, c == kDottedI ? U'i' : made);
    if (c == kDottedI) data::append_code_point(out, kDotAbove);
    before = c;
  }
  return out;
}

}  // namespace weft::eval
