// Parsing of initial values: zeros, normal(0.02).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "ir/graph/module.h"
#include "ir/text/cursor.h"

namespace weft {

// Nothing where an error was reported.
std::optional<Init> parse_init(Cursor& in);
// An initial value alone, as Init::str() writes it, in valid UTF-8.
Result<Init> parse_init(const std::string& file, std::string text);

}  // namespace weft
