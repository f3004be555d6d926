// The binary form of a module (.weftb), in flatbuffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph/module.h"
#include "ir/support/result.h"

namespace weft {

// Raised when a file of before can no longer be read as it was meant.
inline constexpr uint32_t kBinaryVersion = 1;

// Holds exactly what the text form holds: print(read_binary(write_binary(m))) == print(m).
std::string write_binary(const Module& module);
// Treats the bytes as hostile. `file` is used in diagnostics.
Result<Module> read_binary(const std::string& file, std::string_view bytes);
bool looks_binary(std::string_view bytes);  // by its identifier

}  // namespace weft
