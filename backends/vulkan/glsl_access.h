// How a kernel sees its buffers: declarations, and the functions that read and write elements.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/executable.h"

namespace weft::vulkan {

// Storage buffers are arrays of words where their elements are smaller, on devices without such
// elements: reading shifts, writing changes a part of a word by atomic operations, since its other
// parts may be another invocation's.
struct SmallElements {
  bool bytes_in_words = false;
  bool halves_in_words = false;

  bool in_words(const Binding& binding) const {
    if (binding.view != Binding::storage) return false;
    const int64_t bytes = byte_size(binding.dtype);
    return (bytes == 1 && bytes_in_words) || (bytes == 2 && halves_in_words);
  }
};

struct AccessText {
  std::string declaration;
  std::string functions;  // load_NAME(at) and store_NAME(at, x), as far as it reads and writes
};

// `number` is the binding's place in the set.
AccessText access_text(const std::string& name, const Binding& binding, size_t number,
                       const SmallElements& small);

}  // namespace weft::vulkan
