// A hash that is the same on every machine and in every build, unlike std::hash.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace weft {

inline constexpr uint64_t kHashStart = 0xcbf29ce484222325;

// FNV-1a, 64 bits. Each step is a bijection of the hash so far: texts of one length that differ in
// one byte never have the same hash. To go on from an earlier text, give its hash.
inline uint64_t stable_hash(std::string_view text, uint64_t hash = kHashStart) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// The same for large data, eight bytes at a time: here, too, one changed byte always shows.
inline uint64_t checksum(std::string_view bytes, uint64_t hash = kHashStart) {
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return stable_hash(bytes, hash);
}

// Two hashes that have nothing in common but the text, as 32 digits: a name for a file.
inline std::string digest(std::string_view text) {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, stable_hash(text),
                checksum(text));
  return digits;
}

}  // namespace weft
