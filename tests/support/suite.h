// Which suite runs: ./dev test sets WEFT_SUITE to quick, default or slow.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

namespace weft {

inline std::string_view suite() {
  const char* name = std::getenv("WEFT_SUITE");
  return name == nullptr ? "default" : name;
}

}  // namespace weft
