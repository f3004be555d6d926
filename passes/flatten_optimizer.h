// Pass `flatten-optimizer`: one optimizer step on all parameters laid end to end. Needs: optimizer
// ops not yet decomposed. Leaves: parameters of one dtype and one optimizer updated by a single
// node on flat operands (concat of reshapes), the norm of their gradients taken on the flat
// gradient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace weft {

Result<bool> flatten_optimizer(Module& module, const PassOptions& options);

}  // namespace weft
