// How much memory the host could not give: std::bad_alloc does not say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::cli {

// Of the last request of `new` that failed; 0 if none did.
size_t refused_bytes();

}  // namespace weft::cli
