// A plan on the interpreter of Tile programs: what launches and lifetimes mean, without a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/oracle/oracle.h"
#include "ir/plan/plan.h"

namespace weft {

// Runs a planned graph. Memory that holds nothing (arena buffers before their first and after their
// last step, outputs before they are written) is poisoned. What run_oracle gives for the same
// numbers is what this should give.
Result<OracleResult> run_plan(const Module& module, const Plan& plan, const std::string& graph,
                              const TensorMap& inputs, const TensorMap& storage,
                              const DimBinding& given = {});

}  // namespace weft
