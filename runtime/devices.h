// The devices of this machine, and which one a name means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/support/result.h"

namespace weft {

struct Device {
  std::string name;                                        // as --device takes it
  std::string description;                                 // one line
  std::vector<std::pair<std::string, std::string>> facts;  // limits and features
  bool usable = false;
  std::string verdict;  // of the self-test, or why it cannot be used
  std::string notice;   // what a user who asked for it must know; may be empty
};

// Every device that Weft knows of, usable or not, each with its self-test run.
std::vector<Device> list_devices();

// The device that runs what `name` asks for. Without a code generator `cpu` means the oracle, with
// a notice.
Result<Device> choose_device(const std::string& name);

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
