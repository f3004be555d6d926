// What a Tile program does with its buffers, as the runtime needs it to run kernels side by side.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ir/tile/program.h"
#include "runtime/executable.h"

namespace weft {

// One per buffer of the program.
std::vector<BufferUse> buffer_uses(const tile::Program& program);

}  // namespace weft
