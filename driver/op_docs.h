// docs/ops.md, made from the op table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

std::string ops_markdown();

}  // namespace weft
