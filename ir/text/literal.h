// Scalar constants written in place, as operands: `mul %x, 0.125`, `select %c, f32(1.0), f32(0.0)`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace weft {

// Per node: a scalar constant without name, origin and instance that only nodes use.
std::vector<bool> literal_nodes(const Graph& graph);

// The element type that a bare number has among its op's operands: that of the first operand that
// is neither a literal (no entry) nor bool. Nothing if there is none.
std::optional<DType> bare_literal_dtype(std::span<const std::optional<DType>> operands);

// "0.125", "3", "true"
std::string bare_literal(const Node& constant);
// "f32(0.125)", "i32(3)", "true"
std::string typed_literal(const Node& constant);

// The numbers of a constant: "0.5", "[1, 2, 3]", "[true, false]".
std::string format_numbers(const Numbers& numbers, DType dtype);

}  // namespace weft
