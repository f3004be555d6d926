// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/storage.h"

namespace weft {

Result<VulkanStorage::Piece> VulkanStorage::make(int64_t bytes, const std::string& what) {
  if (bytes > INT64_MAX - 2 * kVulkanAlignment) {
    return error({}, what, ": ", bytes, " bytes are more than can be counted");
  }
  Piece made;
  const int64_t all = aligned(bytes, kVulkanAlignment) + kVulkanAlignment;
  WEFT_TRY(made.buffer, DeviceBuffer::create(pool_->device(), all, MemoryUse::device, what));
  made.asked = bytes;
  WEFT_TRY_STATUS(transfers_.zero(made.buffer, 0, all));
  return made;
}

Result<size_t> VulkanStorage::add(int64_t bytes, const std::string& what) {
  WEFT_TRY(Piece made, make(bytes, what));
  pieces_.push_back(std::move(made));
  ++generation_;
  return pieces_.size() - 1;
}

Status VulkanStorage::replace(size_t piece, int64_t bytes, int64_t kept, const std::string& what) {
  WEFT_TRY(Piece made, make(bytes, what));
  if (kept > 0) {
    const VkBufferCopy region{0, 0, static_cast<VkDeviceSize>(kept)};
    WEFT_TRY_STATUS(transfers_.copy(pieces_[piece].buffer, made.buffer, {&region, 1}));
  }
  pieces_[piece] = std::move(made);
  ++generation_;
  return ok();
}

std::byte* VulkanStorage::host(StoragePlace place) const {
  const DeviceBuffer& buffer = pieces_[place.piece].buffer;
  return buffer.cached() ? buffer.mapped() + place.offset : nullptr;
}

Status VulkanStorage::write(StoragePlace to, std::span<const std::byte> bytes) {
  return transfers_.upload(pieces_[to.piece].buffer, to.offset, bytes);
}

Status VulkanStorage::zero(StoragePlace to, int64_t bytes) {
  return transfers_.zero(pieces_[to.piece].buffer, to.offset, bytes);
}

Status VulkanStorage::copy(StoragePlace value, std::span<const StorageCopy> copies) {
  std::vector<VkBufferCopy> regions;
  for (const StorageCopy& item : copies) {
    if (item.bytes == 0) continue;
    regions.push_back({static_cast<VkDeviceSize>(value.offset + item.from),
                       static_cast<VkDeviceSize>(value.offset + item.to),
                       static_cast<VkDeviceSize>(item.bytes)});
  }
  const DeviceBuffer& buffer = pieces_[value.piece].buffer;
  return transfers_.copy(buffer, buffer, regions);
}

Result<std::span<const std::byte>> VulkanStorage::read(StoragePlace from, int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  if (const std::byte* seen = host(from); seen != nullptr) return std::span(seen, size);
  std::vector<std::byte>& copy = reads_[{from.piece, from.offset}];
  copy.resize(size);
  WEFT_TRY_STATUS(transfers_.download(pieces_[from.piece].buffer, from.offset, copy));
  return std::span<const std::byte>(copy);
}

}  // namespace weft
