// SPDX-License-Identifier: Apache-2.0
#include "runtime/storage_memory.h"

#include <cstring>

namespace weft {

Result<size_t> HostStorage::add(int64_t bytes, const std::string& what) {
  WEFT_TRY(Memory memory, Memory::allocate(bytes, what));
  pieces_.push_back(std::move(memory));
  return pieces_.size() - 1;
}

Status HostStorage::replace(size_t piece, int64_t bytes, int64_t kept, const std::string& what) {
  WEFT_TRY(Memory memory, Memory::allocate(bytes, what));
  if (kept > 0) std::memcpy(memory.data(), pieces_[piece].data(), static_cast<size_t>(kept));
  pieces_[piece] = std::move(memory);
  return ok();
}

Status HostStorage::write(StoragePlace to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(host(to), bytes.data(), bytes.size());
  return ok();
}

Status HostStorage::zero(StoragePlace to, int64_t bytes) {
  if (bytes > 0) std::memset(host(to), 0, static_cast<size_t>(bytes));
  return ok();
}

Status HostStorage::copy(StoragePlace value, std::span<const StorageCopy> copies) {
  std::byte* const data = host(value);
  for (const StorageCopy& item : copies) {
    if (item.bytes == 0) continue;
    std::memcpy(data + item.to, data + item.from, static_cast<size_t>(item.bytes));
  }
  return ok();
}

Result<std::span<const std::byte>> HostStorage::read(StoragePlace from, int64_t bytes) {
  return std::span<const std::byte>(host(from), static_cast<size_t>(bytes));
}

void HostStorage::give_back(StoragePlace place, int64_t bytes) {
  Memory::give_back(host(place), bytes);
}

}  // namespace weft
