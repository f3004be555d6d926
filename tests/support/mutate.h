// Damaged copies of good files, for readers that must survive them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace weft {

// One to four random damages: flipped bits, replaced bytes, spans removed, doubled or swapped.
std::string mutate_bytes(std::string bytes, std::mt19937_64& random);
// The same with words, which gets past the lexer.
std::string mutate_words(const std::string& text, std::mt19937_64& random);

// Times as many cases in the slow suite, a part of them in the quick one.
int suite_count(int count);

}  // namespace weft
