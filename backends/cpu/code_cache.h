// Compiled programs in files, so that a second start of a model needs no LLVM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/target.h"
#include "ir/support/private_folder.h"
#include "ir/tile/program.h"
#include "runtime/executable.h"

namespace weft::cpu {

// One program's code; the kernel's entry counts from its start.
struct ProgramCode {
  Kernel kernel;
  std::vector<std::byte> code;
};

inline constexpr uint64_t kMaxCodeCacheBytes = uint64_t{512} << 20;

// What all code depends on besides its program: the builds of Weft and LLVM, the target, the
// options. Fails if it is not known which build this is.
Result<std::string> circumstances(const CpuTarget& target, bool bounds_checks);

// An entry is an executable file (runtime/executable_file.h) with one kernel and no graph, which
// has its whole key in the place of a module's name. Threads and processes may share the folder.
// What cannot be read, is damaged or has another key is not there.
class CodeCache {
 public:
  // Fails if the folder cannot be used, or if it is not known which build of Weft or LLVM this is.
  static Result<CodeCache> open(const std::string& folder, const CpuTarget& target,
                                bool bounds_checks);

  // Everything that a program's code depends on, as text.
  std::string key_of(const tile::Program& program) const;
  std::optional<ProgramCode> find(const std::string& key) const;
  Status keep(const std::string& key, const ProgramCode& compiled) const;
  // Drops what was not used for longest if the folder has grown beyond kMaxCodeCacheBytes.
  void trim() const;

 private:
  CodeCache(PrivateFolder folder, std::string circumstances)
      : folder_(std::move(folder)), circumstances_(std::move(circumstances)) {}

  PrivateFolder folder_;
  std::string circumstances_;  // what all keys begin with
};

}  // namespace weft::cpu
