// Line diffs of two texts, for `weft dump --diff`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// A unified diff with three lines of context; empty if the texts are equal.
std::string unified_diff(const std::string& before, const std::string& after,
                         const std::string& before_name, const std::string& after_name);

}  // namespace weft
