// Type inference: from operand types and attributes to result types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/op.h"
#include "ir/support/result.h"

namespace weft {

inline constexpr size_t kMaxInlineNumbers = 64;  // of a constant written out

class Graph;

struct InferArgs {
  Op op;
  std::span<const Type> operands;
  const Attrs& attrs;  // complete and normalised (see normalise_attrs)
  const DimFacts& facts;
  Loc loc;
  std::span<const Loc> operand_locs;  // where the operands were defined; may be empty
  const Graph* body = nullptr;        // of ops that have one

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

// What makes a type unusable (too many axes, a size that is negative or beyond 64 bits), or
// nothing.
std::optional<std::string> type_fault(const Type& type);

// Sizes that `slice` and `pad` make of one axis.
Dim sliced_size(const Dim& start, const Dim& limit, int64_t stride);
Dim padded_size(const Dim& size, const Dim& low, const Dim& high, int64_t interior);
// The number of windows that `patches` finds along one axis.
Dim window_count(const Dim& size, int64_t window, int64_t stride);

// The shape two shapes broadcast to, or nothing if they do not.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b, const DimFacts& facts);

}  // namespace weft
