// Which suite runs: ./dev test sets WEFT_SUITE to quick, default or slow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace weft {

inline std::string_view suite() {
  const char* name = std::getenv("WEFT_SUITE");
  return name == nullptr ? "default" : name;
}

// Whether this is one of the many alike cases that the quick suite leaves out: it takes every n-th.
inline bool left_out(size_t turn, size_t n) { return suite() == "quick" && turn % n != 0; }

}  // namespace weft
