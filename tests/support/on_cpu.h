// What tests of generated code share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/oracle/oracle.h"

namespace weft {

// For --target-cpu: every kind of code that this machine can run.
const std::vector<std::string>& cpu_targets();

bool same_bits(const TensorMap& a, const TensorMap& b);
bool same_bits(const OracleResult& a, const OracleResult& b);

}  // namespace weft
