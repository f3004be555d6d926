// Files of compiled executables (.weftx). Loading one and running it runs the code in it: take them
// only from where you would take a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/support/result.h"
#include "runtime/executable.h"
#include "runtime/loaded.h"

namespace weft {

// A file is a head of 64 bytes and a flatbuffer (runtime/executable.fbs). The head, little endian:
//   0  magic "WEFTEXEC"    8  u32 format version    12  build version, 36 bytes, padded with 0
//   48 u64 bytes of the flatbuffer    56  u64 checksum of the 56 bytes before and the flatbuffer
inline constexpr uint32_t kExecutableFormat = 5;
inline constexpr size_t kExecutableHeadBytes = 64;
inline constexpr uint64_t kMaxExecutableBytes = uint64_t{1} << 30;

// The version of Weft, which an executable must share with its runtime.
std::string_view build_version();

std::string write_executable(const Executable& executable);
// Treats the bytes as hostile: refuses another version, another machine and damage of any kind.
// `file` is used in diagnostics.
Result<Executable> read_executable(const std::string& file, std::string_view bytes);
bool looks_executable(std::string_view bytes);  // by its magic

Status save_executable(const std::string& path, const Executable& executable);
Result<LoadedPtr> load_executable(const std::string& path);

}  // namespace weft
