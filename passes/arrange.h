// Pass `arrange`: brings primitives into forms that regions can hold. Needs: primitives only.
// Leaves: reductions over the first or the last axes, products written so that their last axis
// stays last, picks taken before the arithmetic on them, sums that begin a scatter inside it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "passes/rewrite.h"

namespace weft {

Result<bool> arrange(Module& module, const PassOptions& options);
std::span<const Rule> arrange_rules();

}  // namespace weft
