// The elementary functions that generated code calls for doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cpu/kernel_abi.h"

namespace weft {

// Those of the C library; lives as long as the program.
const MathTable& math_table();

}  // namespace weft
