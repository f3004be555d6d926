// UTF-8: checking, taking apart, putting together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::data {

// How many bytes from the start are valid: all of them if the text is. Overlong forms, surrogates
// and what is beyond U+10FFFF are not.
size_t valid_utf8_prefix(std::string_view text);
// The code point at `at`, which moves behind it. The text is valid, and has one there.
char32_t next_code_point(std::string_view text, size_t& at);
int64_t count_code_points(std::string_view text);  // of a valid text
// The bytes of the first `count` code points of a valid text; all if it has fewer.
size_t bytes_of_code_points(std::string_view text, int64_t count);
void append_code_point(std::string& text, char32_t code);
// "'a' (U+0061)"; controls by number only.
std::string describe_code_point(char32_t code);

}  // namespace weft::data
