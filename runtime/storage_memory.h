// Where parameters and state lie: pieces of memory, of the host or of a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory.h"

namespace weft {

struct StoragePlace {
  size_t piece = 0;
  int64_t offset = 0;  // in bytes
};

// Bytes of a value that are copied to another place of it.
struct StorageCopy {
  int64_t from = 0;
  int64_t to = 0;
  int64_t bytes = 0;
};

// Places and sizes that it is given lie within their piece.
class StorageMemory {
 public:
  virtual ~StorageMemory() = default;

  virtual int64_t alignment() const = 0;  // of a place that kernels are given
  // A new piece of zeros, and its number: they count from 0. Fails if memory is short.
  virtual Result<size_t> add(int64_t bytes, const std::string& what) = 0;
  // Another size for a piece, whose first `kept` bytes stay; the others are zeros.
  virtual Status replace(size_t piece, int64_t bytes, int64_t kept, const std::string& what) = 0;
  virtual int64_t bytes(size_t piece) const = 0;

  // Where the host reads and writes it as its own memory; null if it does not.
  virtual std::byte* host(StoragePlace place) const = 0;
  virtual Status write(StoragePlace to, std::span<const std::byte> bytes) = 0;
  virtual Status zero(StoragePlace to, int64_t bytes) = 0;
  // One after the other, each relative to `value`; from and to apart.
  virtual Status copy(StoragePlace value, std::span<const StorageCopy> copies) = 0;
  // Good until the memory changes, at least as long as nothing runs and nothing is written.
  virtual Result<std::span<const std::byte>> read(StoragePlace from, int64_t bytes) = 0;
  // What is there is not needed any more; the system may have it.
  virtual void give_back(StoragePlace, int64_t) {}
};

// The host's own.
class HostStorage final : public StorageMemory {
 public:
  int64_t alignment() const override { return kBufferAlignment; }
  Result<size_t> add(int64_t bytes, const std::string& what) override;
  Status replace(size_t piece, int64_t bytes, int64_t kept, const std::string& what) override;
  int64_t bytes(size_t piece) const override { return pieces_[piece].bytes(); }
  std::byte* host(StoragePlace place) const override {
    return pieces_[place.piece].data() + place.offset;
  }
  Status write(StoragePlace to, std::span<const std::byte> bytes) override;
  Status zero(StoragePlace to, int64_t bytes) override;
  Status copy(StoragePlace value, std::span<const StorageCopy> copies) override;
  Result<std::span<const std::byte>> read(StoragePlace from, int64_t bytes) override;
  void give_back(StoragePlace place, int64_t bytes) override;

 private:
  std::vector<Memory> pieces_;
};

}  // namespace weft
