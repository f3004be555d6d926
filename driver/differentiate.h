// A module with its backward pass, as `weft grad` makes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "passes/pass.h"

namespace weft {

// Adds @backward, and with an optimizer @train_step, to a module. The passes before `autodiff` run
// first, so that what they recover, attention for instance, is differentiated as one op; the graphs
// that the module has stay as they are.
Result<std::vector<PassRecord>> differentiate(Module& module, const GradRequest& request,
                                              PipelineOptions pipeline = {});

}  // namespace weft
