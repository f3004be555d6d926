// The text form of Tile programs. The grammar is in docs/tile-ir.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/support/result.h"
#include "ir/tile/program.h"

namespace weft::tile {

// Same program, same bytes; parse(print(p)) prints the same text again.
std::string print(const Program& program);
std::string print(const Program& program, const Index& index);

// Every symbol, in the order in which the program mentions them.
std::vector<std::string> ordered_symbols(const Program& program);

// Equal for programs that differ only in names and provenance: what equal kernels are shared by.
// `symbols` are those whose names do not count either, only their order.
std::string key(Program program, const std::vector<std::string>& symbols = {});

// Parses and verifies one kernel. `file` is used in diagnostics. Reports several errors.
Result<Program> parse(const std::string& file, std::string text);

// What a line of the text calls an unnamed value of this kind, before its number.
std::string mnemonic(const Value& value);

}  // namespace weft::tile
