// The head of a file of examples, as it lies in the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace weft::data {

inline constexpr std::array<char, 8> kExamplesMagic = {'w', 'e', 'f', 't', 'd', 'a', 't', '1'};
inline constexpr uint64_t kMaxFields = 8;

struct ExamplesHead {
  std::array<char, 8> magic = {};
  uint32_t element = 0;
  uint32_t unused = 0;
  uint64_t fields = 0;
  uint64_t count = 0;
  uint64_t elements = 0;
  std::array<uint64_t, 3> more = {};
};
static_assert(sizeof(ExamplesHead) == 64);

// Bytes of the elements, so that the index behind them is aligned.
constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace weft::data
