// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/code.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft {

Result<LoadedCode> LoadedCode::load(std::span<const std::byte> code) {
  if (code.empty()) return error({}, "there is no machine code to load");
  void* memory =
      mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return error({}, "no memory for ", code.size(),
                 " bytes of machine code: ", std::strerror(errno));
  }
  LoadedCode loaded(memory, code.size());
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0) {
    return error({}, "the system does not let generated code run: ", std::strerror(errno))
        .hint("use --device oracle");
  }
  char* begin = static_cast<char*>(memory);
  __builtin___clear_cache(begin, begin + code.size());
  return loaded;
}

LoadedCode::LoadedCode(LoadedCode&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LoadedCode& LoadedCode::operator=(LoadedCode&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

LoadedCode::~LoadedCode() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

KernelFn LoadedCode::at(uint64_t offset) const {
  WEFT_CHECK(offset < size_, "a kernel's entry lies inside the code");
  return reinterpret_cast<KernelFn>(reinterpret_cast<uintptr_t>(memory_) + offset);
}

}  // namespace weft
