// SPDX-License-Identifier: Apache-2.0
#include "driver/data/utf8.h"

#include <cstdio>

namespace weft::data {
namespace {

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

bool is_continuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// Bytes of the sequence that begins with this one; 0 if none does.
size_t sequence_length(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a continuation, or an overlong form
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

// The second byte has narrower bounds where the first alone does not rule out what is not allowed.
bool second_fits(uint8_t first, uint8_t second) {
  switch (first) {
    case 0xe0: return second >= 0xa0;  // overlong
    case 0xed: return second < 0xa0;   // surrogates
    case 0xf0: return second >= 0x90;  // overlong
    case 0xf4: return second < 0x90;   // beyond U+10FFFF
    default: return true;
  }
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    uint8_t first = byte_at(text, at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    size_t length = sequence_length(first);
    if (length == 0 || length > text.size() - at) return at;
    for (size_t i = 1; i < length; ++i) {
      if (!is_continuation(byte_at(text, at + i))) return at;
    }
    if (!second_fits(first, byte_at(text, at + 1))) return at;
    at += length;
  }
  return at;
}

char32_t next_code_point(std::string_view text, size_t& at) {
  uint8_t first = byte_at(text, at++);
  if (first < 0x80) return first;
  size_t more = sequence_length(first) - 1;
  char32_t code = first & (0x3f >> more);
  for (size_t i = 0; i < more; ++i) code = code << 6 | (byte_at(text, at++) & 0x3f);
  return code;
}

int64_t count_code_points(std::string_view text) {
  int64_t count = 0;
  for (char c : text) count += is_continuation(static_cast<uint8_t>(c)) ? 0 : 1;
  return count;
}

size_t bytes_of_code_points(std::string_view text, int64_t count) {
  size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += sequence_length(byte_at(text, at));
  return at;
}

void append_code_point(std::string& text, char32_t code) {
  auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

std::string describe_code_point(char32_t code) {
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(code));
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return number;
  std::string text = "'";
  append_code_point(text, code);
  return text + "' (" + number + ")";
}

}  // namespace weft::data
