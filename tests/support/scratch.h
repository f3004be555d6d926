// Files that a test writes for itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// A path in the folder for temporary files.
std::string scratch(const std::string& name);
// Writes such a file, as bytes, and returns its path.
std::string write_scratch(const std::string& name, const std::string& bytes);

}  // namespace weft
