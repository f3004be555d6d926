// What a .weftx holds behind its head, as a flatbuffer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ir/support/result.h"
#include "runtime/executable.h"

namespace weft::weftx {

// The processor family that this build, and with it the code it compiles, is for: "x86_64".
std::string_view architecture();

// The names of kinds, in the order of their enums.
inline constexpr std::string_view kBufferKinds[] = {"input",  "output",   "storage",
                                                    "packed", "constant", "arena"};
inline constexpr std::string_view kViews[] = {"storage", "texel", "image"};
inline constexpr std::string_view kStepKinds[] = {"launch", "copy", "repeat"};

std::string write_payload(const Executable& executable);
// Fails on code for another architecture, and on bytes that write_payload would not write. Whether
// the numbers in it fit together is for check_executable to say.
Result<Executable> read_payload(const std::string& file, std::string_view bytes);

}  // namespace weft::weftx
