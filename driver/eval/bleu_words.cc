// Sentences as words: the tokenisers of BLEU.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "driver/data/utf8.h"
#include "driver/eval/bleu.h"
#include "driver/eval/lower_case.h"

namespace weft::eval {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

// Those that mteval-v13a puts apart wherever they stand.
bool is_symbol(char c) {
  auto within = [&](char low, char high) { return c >= low && c <= high; };
  return within('{', '~') || within('[', '`') || within(' ', '&') || within('(', '+') ||
         within(':', '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Calls pair(c, next) from left to right; if it gives text for the two, that stands for them, and
// the next pair begins behind. As a regular expression of two characters is replaced: bytes of
// longer characters are no digits and no points.
template <class Pair>
std::string replace_pairs(const std::string& text, Pair pair) {
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    std::string replaced;
    if (i + 1 < text.size()) replaced = pair(text[i], text[i + 1]);
    out += replaced.empty() ? std::string(1, text[i]) : replaced;
    i += replaced.empty() ? 1 : 2;
  }
  return out;
}

std::string apart_13a(std::string text) {
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  std::string spaced = " ";
  for (char c : text) spaced += is_symbol(c) ? std::string{' ', c, ' '} : std::string(1, c);
  spaced += " ";
  spaced = replace_pairs(spaced, [](char a, char b) {
    return !is_digit(a) && is_point(b) ? std::string{a, ' ', b, ' '} : std::string();
  });
  spaced = replace_pairs(spaced, [](char a, char b) {
    return is_point(a) && !is_digit(b) ? std::string{' ', a, ' ', b} : std::string();
  });
  return replace_pairs(spaced, [](char a, char b) {
    return is_digit(a) && b == '-' ? std::string{a, ' ', b, ' '} : std::string();
  });
}

// As Python's str.isspace.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::vector<std::string> split(std::string_view text, bool each_character) {
  std::vector<std::string> words;
  bool begins = true;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    if (is_space(data::next_code_point(text, at))) {
      begins = true;
      continue;
    }
    if (begins || each_character) words.emplace_back();
    words.back() += text.substr(start, at - start);
    begins = false;
  }
  return words;
}

}  // namespace

std::vector<std::string> bleu_words(std::string_view sentence, const BleuOptions& options) {
  std::string text = options.lowercase ? lower_case(sentence) : std::string(sentence);
  if (options.tokens == BleuTokens::mteval13a) text = apart_13a(std::move(text));
  return split(text, options.tokens == BleuTokens::characters);
}

}  // namespace weft::eval
