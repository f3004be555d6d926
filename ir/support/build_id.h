// Which build of a program or library is running.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// The build id, as hexadecimal digits, of the program or shared library that a function or an
// object lies in: a hash that the linker made of everything in the file, so that it differs
// whenever the code does, whatever dates and paths the file has. Empty if there is none.
std::string build_id_of(const void* address);

}  // namespace weft
