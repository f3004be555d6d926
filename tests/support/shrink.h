// Shrinking: the smallest module that still shows a failure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ir/graph/module.h"

namespace weft {

// Drops outputs, updates and names, replaces nodes by one of their operands or by an input of the
// same type, and forgets what is then unused, as long as `fails` says yes. Every module that
// `fails` is asked about is valid. `fails` must hold for `module` itself.
Module shrink(Module module, const std::function<bool(const Module&)>& fails);

}  // namespace weft
