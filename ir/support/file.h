// Reading and writing whole files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/result.h"

namespace weft {

inline constexpr uint64_t kMaxModuleBytes = uint64_t{256} << 20;

// Fails on folders, devices and files larger than `limit`, before reading.
Result<std::string> read_file(const std::string& path, uint64_t limit);
// Writes aside, syncs, renames: the file is whole or as it was. One that exists keeps its
// permission bits, a link its target. "-" is standard output.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace weft
