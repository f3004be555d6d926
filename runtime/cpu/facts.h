// What this machine's processor is and has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct CpuFacts {
  std::string model;
  int threads = 1;
  int vector_bits = 128;
  std::vector<std::string> features;                 // avx2, fma, avx512f, ...
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0 = unknown
  int64_t memory_bytes = 0;
};
CpuFacts cpu_facts();

}  // namespace weft
