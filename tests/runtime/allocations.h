// Counts the program's allocations.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

int64_t allocation_count();  // calls of operator new so far, on all threads

}  // namespace weft
