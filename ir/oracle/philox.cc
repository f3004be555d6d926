// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/philox.h"

namespace weft {
namespace {

uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }

}  // namespace

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    uint64_t product0 = uint64_t{kPhiloxMultipliers[0]} * counter[0];
    uint64_t product1 = uint64_t{kPhiloxMultipliers[1]} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kPhiloxKeySteps[0];
    key[1] += kPhiloxKeySteps[1];
  }
  return counter;
}

void RandomBits::fill(uint64_t block) {
  words_ = philox({low(block), high(block), step_, 0}, key_);
  block_ = block;
  filled_ = true;
}

}  // namespace weft
