// How much memory the system could still give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "ir/support/result.h"
#include "ir/types/dim.h"

namespace weft::train {

// Without taking it from other processes; what the machine has where the system does not tell.
int64_t available_bytes();

// Whether a graph at these sizes, which needs `bytes`, fits into `available`: otherwise the system
// would end the process in the middle of a step.
Status check_memory(const std::string& graph, const DimBinding& dims, int64_t bytes,
                    int64_t available);

}  // namespace weft::train
