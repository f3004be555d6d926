// From a relocatable ELF object to one run of bytes that needs no linker.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/support/result.h"

namespace weft::cpu {

struct FlatCode {
  std::vector<std::byte> code;              // to be loaded at the start of a page
  std::map<std::string, uint64_t> entries;  // global functions: offset into `code`
};

// Lays the code and the constants of an object of x86-64 or aarch64 one after the other and settles
// the distances between them. Fails, naming it, on a symbol that is not defined in the object, on
// an address that would depend on where the code is loaded, and on data that can be written.
Result<FlatCode> flatten_object(std::string_view object);

}  // namespace weft::cpu
