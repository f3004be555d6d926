// Orders of axes, as the attribute `perm` of transpose has them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

using Permutation = std::vector<int64_t>;

// What undoes `perm`: axis perm[i] goes back to i.
inline Permutation inverse(const Permutation& perm) {
  Permutation result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return result;
}

}  // namespace weft
