// Part of `raise`: keys and values that are repeated for several heads of queries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/graph/emit.h"

namespace weft {

// A value that repeats another along some axes and regroups them: [.., Hkv, 1, S, D] stretched to
// [.., Hkv, G, S, D] and seen as [.., H, S, D].
struct RepeatedHeads {
  Value of;
  Shape groups;  // the stretched leading axes
};
std::optional<RepeatedHeads> repeated_heads(Emitter& b, Value value);

// A value stretched over heads as it was before, if those of `other` make up the leading axes of
// `scores` all the same; else the value itself.
Value read_once(Emitter& b, Value value, Value other, const Shape& scores);

}  // namespace weft
