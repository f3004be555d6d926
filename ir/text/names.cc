// SPDX-License-Identifier: Apache-2.0
#include "ir/text/names.h"

#include <algorithm>

#include "ir/graph/attr.h"
#include "ir/text/lexer.h"

namespace weft {
namespace {

bool is_plain(const std::string& name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), is_name_char);
}

// Length of the valid UTF-8 sequence at the start of `bytes`, 0 if there is none.
size_t sequence_length(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  auto follows = [&](size_t i, unsigned low, unsigned high) {
    return i < bytes.size() && byte(i) >= low && byte(i) <= high;
  };
  unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return follows(1, 0x80, 0xbf) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {  // no surrogates, no overlong forms
    unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2, 0x80, 0xbf) && follows(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool is_symbol(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_name_char(c) && c != '.'; });
}

std::string spell(char sigil, const std::string& name) {
  return sigil + (is_plain(name) ? name : quote(name));
}

std::string spell(const std::string& name) {
  return is_plain(name) && !is_digit(name[0]) ? name : quote(name);
}

std::string quote(const std::string& text) { return format(AttrValue(text)); }

size_t utf8_prefix(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    size_t length = sequence_length(bytes.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace weft
