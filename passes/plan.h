// Planning: a fused module as launches on buffers with lifetimes (ir/plan/plan.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/plan/plan.h"
#include "passes/lower.h"

namespace weft {

// `module` has gone through the graph pipeline to its end.
Result<Plan> make_plan(const Module& module, const DeviceTraits& device);

}  // namespace weft
