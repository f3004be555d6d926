// Which steps of a bound graph do not need one another, and may run at the same time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/bind.h"

namespace weft {

inline constexpr size_t kMostSideBySide = 8;  // steps of a group

// Fills in `groups` and `most_buffers` of a graph that is bound otherwise. A group ends before a
// step that reads what one of it writes, or writes what one of it touches.
void group_steps(BoundGraph& bound);

}  // namespace weft
