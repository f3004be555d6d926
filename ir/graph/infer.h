// Type inference: from operand types and attributes to result types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ir/graph/op.h"
#include "ir/support/result.h"

namespace weft {

struct InferArgs {
  Op op;
  std::span<const Type> operands;
  const Attrs& attrs;  // complete and normalised (see normalise_attrs)
  const DimFacts& facts;
  Loc loc;
  std::span<const Loc> operand_locs;  // where the operands were defined; may be empty

  // An error that begins with the op's name.
  template <class... Parts>
  Error fail(const Parts&... parts) const {
    return error(loc, name(op), ": ", parts...);
  }
  Loc operand_loc(size_t i) const { return i < operand_locs.size() ? operand_locs[i] : Loc{}; }
};

// Checks operand count and element types, then applies the op's type rule.
Result<std::vector<Type>> infer_types(const InferArgs& args);

// Checks names and kinds of attributes against the op table, fills defaults in, makes axes
// non-negative (by the first operand's rank) and puts all in the order of the table.
Result<Attrs> normalise_attrs(Op op, const Attrs& attrs, std::span<const Type> operands,
                              const Loc& loc);

// The shape two shapes broadcast to, or nothing if they do not.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b, const DimFacts& facts);

}  // namespace weft
