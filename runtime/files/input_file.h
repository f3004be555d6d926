// A file opened for reading at any place, and the errors that name it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "ir/support/result.h"

namespace weft {

class InputFile {
 public:
  // Fails on what is not a regular file.
  static Result<InputFile> open(const std::string& path);

  uint64_t size() const { return size_; }
  // Exactly `count` bytes from `offset` on; fails, before allocating, if the file is too short.
  Result<std::string> read(uint64_t offset, uint64_t count);

  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(loc_, parts...);
  }
  const Loc& loc() const { return loc_; }

 private:
  std::ifstream stream_;
  uint64_t size_ = 0;
  Loc loc_;  // the file as a whole
};

}  // namespace weft
