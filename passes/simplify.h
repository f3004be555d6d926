// Pass `simplify`: canonical forms, constant folding, algebra; equal nodes merged, dead ones
// dropped. Needs: a valid module. Leaves: no rule of simplify_rules() fits anywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "passes/rewrite.h"

namespace weft {

Result<bool> simplify(Module& module, const PassOptions& options);

// All rules, in the order in which they are tried on a node.
std::vector<const Rule*> simplify_rules();

// The families, one file each.
std::span<const Rule> canonical_rules();   // simplify_canonical.cc
std::span<const Rule> arithmetic_rules();  // simplify_arithmetic.cc
std::span<const Rule> power_rules();       // simplify_power.cc
std::span<const Rule> logic_rules();       // simplify_logic.cc
std::span<const Rule> view_rules();        // simplify_view.cc
std::span<const Rule> reduce_rules();      // simplify_reduce.cc
std::span<const Rule> order_rules();       // simplify_order.cc

}  // namespace weft
