// SPDX-License-Identifier: Apache-2.0
#include "tools/refused_bytes.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> refused = 0;

}  // namespace

size_t weft::cli::refused_bytes() { return refused; }

// In the place of the standard library's, which do the same and remember nothing.
void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  refused = bytes;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
