// Ctrl-C and SIGTERM as a wish to end, for commands that have something to save.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace weft::cli {

inline constexpr int kInterrupted = 130;

// From here on the first SIGINT or SIGTERM sets what is returned; the second ends the process.
const std::atomic<bool>& watch_interrupts();

}  // namespace weft::cli
