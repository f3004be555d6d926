// The graphs for decoding of a model as its author wrote it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/derive_decode.h"

namespace weft {

// Recovers attention (`simplify`, `raise`), then derives.
Result<DecodeGraphs> decode_graphs(Module module, const DecodeRequest& request);

}  // namespace weft
