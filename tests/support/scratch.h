// Files that a test writes for itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft {

// A path in the folder for temporary files.
std::string scratch(const std::string& name);
// A folder for WEFT_CACHE_DIR that all tests of a run share: a model that several of them train is
// compiled once. ctest names it, and ./dev empties it before each run.
std::string shared_cache();
// Writes such a file, as bytes, and returns its path.
std::string write_scratch(const std::string& name, const std::string& bytes);

}  // namespace weft
