// Machine code in memory, ready to be called.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/support/result.h"
#include "runtime/cpu/kernel_abi.h"

namespace weft {

// Owns the memory: functions taken from it are dead once it is. The memory is never writable and
// executable at once.
class LoadedCode {
 public:
  // Fails on empty code, and when the system refuses memory or permission.
  static Result<LoadedCode> load(std::span<const std::byte> code);

  LoadedCode(LoadedCode&& other) noexcept;
  LoadedCode& operator=(LoadedCode&& other) noexcept;
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  ~LoadedCode();

  size_t size() const { return size_; }  // of the code, in bytes
  // The function that starts `offset` bytes into the code; the offset lies inside it.
  KernelFn at(uint64_t offset) const;

 private:
  LoadedCode(void* memory, size_t size) : memory_(memory), size_(size) {}

  void* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace weft
