// Copies of storage in the order in which kernels read it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/loaded.h"
#include "runtime/memory.h"
#include "runtime/storage.h"

namespace weft {

// A launch that copies: kernel, its numbers, from where to where.
struct CopyLaunch {
  uint32_t kernel = 0;
  int64_t programs = 0;
  int64_t scratch_bytes = 0;
  std::vector<int64_t> args = {};
};

// A copy is made when a graph is about to read it and its storage has another value than the copy.
// Where nobody reads the storage itself its memory is given back then, and the value is made again
// of the copy when somebody asks for it.
class PackedValues {
 public:
  static Result<PackedValues> create(LoadedPtr loaded);

  using Launch =
      std::function<Status(const CopyLaunch& copy, const std::byte* from, std::byte* to)>;

  bool ready(uint32_t index, const StorageValues& storage) const {
    return copies_[index].version == storage.version(copies_[index].storage);
  }
  // Needs the storage's value. Fails if memory is short.
  Status prepare(uint32_t index, StorageValues& storage, const Launch& launch);
  // Makes storage whose memory was given back whole again.
  Status restore(uint32_t storage_index, StorageValues& storage, const Launch& launch);

  std::byte* data(uint32_t index) const { return memory_.data() + copies_[index].place; }
  int64_t bytes() const;  // of all copies that were made

 private:
  struct Copy {
    uint32_t storage = 0;  // into Executable::storage
    int64_t offset = 0;    // in it, in bytes
    int64_t place = 0;     // in memory_
    int64_t bytes = 0;
    CopyLaunch make;
    std::optional<CopyLaunch> back = {};
    uint64_t version = 0;  // of the storage's value; 0: none
  };

  static CopyLaunch launch_of(const Kernel& kernel, uint32_t number);

  LoadedPtr loaded_;
  std::vector<Copy> copies_;  // one per entry of Executable::packed
  int64_t all_bytes_ = 0;
  Memory memory_;  // of all copies: there as soon as one is needed, and touched as they are made
};

}  // namespace weft
