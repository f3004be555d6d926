// A module with every float type replaced by f64.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph/module.h"

namespace weft {

// The same graphs, computed as exactly as constants allow: a real attribute that a decomposition
// writes as a constant of a narrower type would be rounded to it.
Module widen(const Module& module);

}  // namespace weft
