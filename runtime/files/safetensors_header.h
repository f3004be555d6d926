// The JSON header of a safetensors file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "runtime/files/safetensors.h"

namespace weft {

// Entries as the header states them, in its order; whether they fit the data is not checked here.
// `header_start` is the byte of the file where `json` begins, `loc` the file.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t header_start,
                                                   const Loc& loc);

// The name that safetensors gives to an element type: "F32".
std::string_view safetensors_name(DType dtype);

// A name as errors quote it: printable, and not endless.
std::string quoted_name(const std::string& name);

}  // namespace weft
