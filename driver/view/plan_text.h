// A plan as text: what runs after what, on which memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/plan/plan.h"

namespace weft {

// For people; nothing parses it. Steps have the numbers that the lifetimes of buffers count.
std::string plan_text(const Plan& plan, const GraphPlan& graph);

}  // namespace weft
