// Concrete sizes of what the oracle is about to hold, checked before anything is allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/support/result.h"
#include "ir/types/type.h"

namespace weft {

// What an element of any type takes, and what all tensors that live at the same time may take.
inline constexpr int64_t kElementBytes = 8;
inline constexpr int64_t kOracleByteLimit = int64_t{8} << 30;

// The shape of a type under a binding. `what` names the value in errors: a size that cannot be
// computed, a negative one, or more elements than can be counted.
Result<std::vector<int64_t>> concrete_shape(const Type& type, const DimBinding& dims,
                                            const Loc& loc, const std::string& what);

// Fails if a tensor of this shape does not fit beside `live` bytes. Returns the bytes it takes.
Result<int64_t> check_room(const std::vector<int64_t>& shape, int64_t live, const Loc& loc,
                           const std::string& what);

// Sizes for all of `symbols`: those `given` and those that follow from asserted equalities, checked
// against the declared bounds and every equality that concerns the symbols. `what` ("graph @f")
// needs them.
Result<DimBinding> complete_dims(const DimFacts& facts, const std::set<std::string>& symbols,
                                 DimBinding given, const Loc& loc, const std::string& what);

// The error for symbols that nothing gives a size.
Error unbound_symbol(const Loc& loc, const std::string& what, const std::string& symbol);

}  // namespace weft
