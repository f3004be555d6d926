// The text form of a module (.weft): printing and parsing. The grammar is in docs/ir.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

// Same module, same bytes; parse(print(m)) prints the same text again.
std::string print(const Module& module);
std::string print(const Module& module, const Graph& graph);  // one graph alone

// The names that values have in print(): "%x", "@w", "%matmul0", indexed [node][result].
std::vector<std::vector<std::string>> value_names(const Graph& graph);

// Parses and type-checks. `file` is used in diagnostics. Reports several independent errors.
Result<Module> parse(const std::string& file, std::string text);

}  // namespace weft
