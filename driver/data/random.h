// Random numbers as a function of seed, epoch and purpose: the same on every machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/oracle/philox.h"

namespace weft::data {

class Random {
 public:
  Random(uint64_t seed, int64_t epoch, uint32_t purpose, uint32_t index = 0)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        epoch_(static_cast<uint32_t>(epoch)),
        purpose_(purpose),
        index_(index) {}

  uint32_t word() {
    if (used_ == words_.size()) {
      words_ = philox({block_++, index_, epoch_, purpose_}, key_);
      used_ = 0;
    }
    return words_[used_++];
  }
  // In [0, bound). The excess of some numbers over others is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    uint64_t high = word();
    return (high << 32 | word()) % bound;
  }

 private:
  PhiloxKey key_;
  uint32_t epoch_;
  uint32_t purpose_;
  uint32_t index_;
  uint32_t block_ = 0;
  PhiloxCounter words_{};
  size_t used_ = std::tuple_size_v<PhiloxCounter>;
};

// Every order is as likely as every other (Fisher-Yates).
template <class T>
void shuffle(std::vector<T>& items, Random random) {
  for (size_t left = items.size(); left > 1; --left) {
    std::swap(items[left - 1], items[random.below(left)]);
  }
}

}  // namespace weft::data
