// A folder of small files that only its owner may change: what a cache keeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/support/descriptor.h"
#include "ir/support/result.h"

namespace weft {

// Several processes may use one at the same time. Names of files have no slash.
class PrivateFolder {
 public:
  // Makes the folder, and those above it, for its owner alone. Fails on one that belongs to
  // somebody else or that others may write to: whoever can put files there decides what they hold.
  static Result<PrivateFolder> open(const std::string& path);

  // Nothing for a file that is not there, is larger than `limit` or cannot be read. A file that is
  // read counts as new for `trim`.
  std::optional<std::string> read(const std::string& name, uint64_t limit) const;
  // The file is whole or as it was, but, other than after write_file, may be lost or damaged by a
  // loss of power.
  Status write(const std::string& name, std::string_view bytes) const;
  // If the files whose names hold `part` have more than `limit` bytes together, removes the oldest
  // until they have three quarters of it. Other files stay.
  void trim(std::string_view part, uint64_t limit) const;

 private:
  explicit PrivateFolder(Descriptor folder) : folder_(std::move(folder)) {}

  Descriptor folder_;  // a path could come to mean another folder after the check
};

}  // namespace weft
