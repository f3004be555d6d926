// Philox4x32-10: random numbers as a function of a counter and a key.
// Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace weft {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::array<uint32_t, 2> kPhiloxMultipliers = {0xD2511F53, 0xCD9E8D57};
// Added to the key after each round: the golden ratio and sqrt(3) - 1.
inline constexpr std::array<uint32_t, 2> kPhiloxKeySteps = {0x9E3779B9, 0xBB67AE85};

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

// The words of the op random_bits: word i is a function of (seed, step, stream, i).
class RandomBits {
 public:
  RandomBits(uint32_t seed, uint32_t step, uint32_t stream) : key_{seed, stream}, step_(step) {}

  uint32_t word(uint64_t i) {
    if (!filled_ || i / 4 != block_) fill(i / 4);
    return words_[i % 4];
  }

 private:
  void fill(uint64_t block);

  PhiloxKey key_;
  uint32_t step_;
  bool filled_ = false;  // four neighbours share a call
  uint64_t block_ = 0;
  PhiloxCounter words_{};
};

}  // namespace weft
