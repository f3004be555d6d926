// SPDX-License-Identifier: Apache-2.0
#include "tests/support/mutate.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/support/suite.h"

namespace weft {
namespace {

size_t below(std::mt19937_64& random, size_t limit) {
  return random() % std::max<size_t>(limit, 1);
}

std::vector<std::string> words_of(const std::string& text) {
  static constexpr std::string_view kSingle = "(){}[],:=\n";
  std::vector<std::string> words(1);
  for (char c : text) {
    bool single = kSingle.find(c) != std::string_view::npos;
    if (single || c == ' ' || words.back() == " " || words.back() == "\n" ||
        (words.back().size() == 1 && kSingle.find(words.back()[0]) != std::string_view::npos)) {
      words.emplace_back();
    }
    words.back() += c;
  }
  return words;
}

}  // namespace

std::string mutate_bytes(std::string bytes, std::mt19937_64& random) {
  for (size_t i = 0, n = 1 + below(random, 4); i < n && !bytes.empty(); ++i) {
    size_t at = below(random, bytes.size());
    size_t length = 1 + below(random, std::min<size_t>(bytes.size() - at, 16));
    switch (below(random, 5)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8))); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: bytes.erase(at, length); break;
      case 3: bytes.insert(at, bytes.substr(at, length)); break;
      default: {
        size_t other = below(random, bytes.size() - length + 1);
        std::string span = bytes.substr(other, length);
        bytes.replace(at, length, span);
      }
    }
  }
  return bytes;
}

std::string mutate_words(const std::string& text, std::mt19937_64& random) {
  std::vector<std::string> words = words_of(text);
  for (size_t i = 0, n = 1 + below(random, 4); i < n; ++i) {
    size_t a = below(random, words.size());
    size_t b = below(random, words.size());
    switch (below(random, 3)) {
      case 0: std::swap(words[a], words[b]); break;
      case 1: words[a] = words[b]; break;
      default: words[a].clear();
    }
  }
  std::string out;
  for (const std::string& word : words) out += word;
  return out;
}

int suite_count(int count) {
  return suite() == "quick" ? std::max(1, count / 5) : suite() == "slow" ? count * 20 : count;
}

}  // namespace weft
