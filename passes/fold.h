// Constant folding: a node whose operands are constants becomes a constant, computed by the oracle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "passes/rewrite.h"

namespace weft {

// Nothing if an operand is not a constant, the result would have more than 64 numbers, the op fails
// on these operands, or a result is not exactly a number of its type: the oracle does not round
// (except in `cast`), but a constant is rounded.
std::optional<Value> fold_constants(Match& match);

}  // namespace weft
