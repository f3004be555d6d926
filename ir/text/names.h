// How names are spelt in the text form, and the limits that both file forms keep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Far above any real module; they keep the memory and time that a hostile file can cost in check.
inline constexpr size_t kMaxModuleNodes = 200'000;
inline constexpr size_t kMaxModuleResults = 200'000;  // outputs and updates, of all graphs
inline constexpr size_t kMaxListItems = 65'536;       // in one list, such as operands
inline constexpr size_t kMaxDimEqualities = 64;
inline constexpr size_t kMaxNesting = 64;
inline constexpr size_t kMaxErrors = 20;  // shown at once

// [A-Za-z_][A-Za-z0-9_]*
bool is_symbol(std::string_view text);

// "%x", "@w": sigil and name, the name quoted unless it is made of letters, digits, '_' and '.'.
std::string spell(char sigil, const std::string& name);
// The same without a sigil, where a leading digit also needs quotes: names of outputs.
std::string spell(const std::string& name);
std::string quote(const std::string& text);

// Length of the longest prefix that is valid UTF-8.
size_t utf8_prefix(std::string_view bytes);

}  // namespace weft
