// Parsing of attributes: {k = 5, axes = [0, 1]}.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ir/graph/op.h"
#include "ir/text/cursor.h"

namespace weft {

// Stands at '{'. The op table says how each value is read. Several errors may be reported.
std::optional<Attrs> parse_attrs(Cursor& in, const OpInfo& op);

}  // namespace weft
