// Parameters and state in the memory of a Vulkan device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/storage_memory.h"
#include "runtime/vulkan/transfers.h"

namespace weft {

class VulkanStorage final : public StorageMemory {
 public:
  explicit VulkanStorage(std::shared_ptr<CommandPool> pool)
      : pool_(std::move(pool)), transfers_(pool_) {}

  int64_t alignment() const override { return kVulkanAlignment; }
  Result<size_t> add(int64_t bytes, const std::string& what) override;
  Status replace(size_t piece, int64_t bytes, int64_t kept, const std::string& what) override;
  int64_t bytes(size_t piece) const override { return pieces_[piece].asked; }
  std::byte* host(StoragePlace place) const override;
  Status write(StoragePlace to, std::span<const std::byte> bytes) override;
  Status zero(StoragePlace to, int64_t bytes) override;
  Status copy(StoragePlace value, std::span<const StorageCopy> copies) override;
  Result<std::span<const std::byte>> read(StoragePlace from, int64_t bytes) override;

  const DeviceBuffer& buffer(size_t piece) const { return pieces_[piece].buffer; }
  // Another number each time that a piece lies elsewhere.
  uint64_t generation() const { return generation_; }
  // What `read` returned is not needed any more.
  void forget_reads() { reads_.clear(); }

 private:
  struct Piece {
    DeviceBuffer buffer;
    int64_t asked = 0;  // bytes; the buffer has some more, so that descriptors may round up
  };
  Result<Piece> make(int64_t bytes, const std::string& what);

  std::shared_ptr<CommandPool> pool_;
  Transfers transfers_;
  std::vector<Piece> pieces_;
  std::map<std::pair<size_t, int64_t>, std::vector<std::byte>> reads_;  // by place
  uint64_t generation_ = 0;
};

}  // namespace weft
