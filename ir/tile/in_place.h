// Programs whose result takes the place of something that was there before.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/tile/program.h"

namespace weft::tile {

// The program with `in` and `out` being the same memory: what was loaded from `in` is loaded from
// `out`, which becomes inout; `in` is gone, and buffers after it move up by one. An `out` that is
// inout already holds what `in` does. Nothing if an element could be read after it was written:
// every load has to touch the element that its coordinates store, in the same statement or an
// earlier one.
std::optional<Program> in_place(const Program& program, BufferId in, BufferId out);

// The program with its stores to `out`, which becomes inout, made into additions. Nothing if it
// writes `out` in any other way than by storing, or reads it.
std::optional<Program> adding_to(const Program& program, BufferId out);

// True if all it does is to store what it loads, each element in its own place.
bool does_nothing(const Program& program);

}  // namespace weft::tile
