// The enum and the descriptions of all ops, derived from ops.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/attr.h"

namespace weft {

enum class Op : uint16_t {
#define OP(name, ...) name,
#include "ir/graph/ops.def"
#undef OP
};

inline constexpr int kOpCount = 0
#define OP(name, ...) +1
#include "ir/graph/ops.def"
#undef OP
    ;

enum OpTrait : uint32_t {
  kNone = 0,
  kElementwise = 1 << 0,  // each result element depends on one element of each operand
  kCommutative = 1 << 1,  // the two operands may be swapped
  kView = 1 << 2,         // a rearrangement of the operand's elements: an index map
  kReduction = 1 << 3,    // along axes that disappear
  kRow = 1 << 4,          // each result row depends on one row of the operand
  kRandom = 1 << 5,       // has a `stream`; equal nodes are equal numbers
  kOptimizer = 1 << 6,    // a parameter update
  kStructural = 1 << 7,   // not written as a line of its own
  kBody = 1 << 8,         // has a graph inside: as many operands and results as that asks for
  kCostly = 1 << 9,       // many instructions an element: worth keeping rather than repeating
};

struct OpInfo {
  Op op;
  std::string_view name;
  std::vector<std::string> operands;  // the last may end in "...", the last few in "?"
  bool variadic = false;
  size_t required = 0;  // operands that may not be left out
  std::vector<AttrSpec> attrs;
  std::vector<std::string> results;  // of an op with a body, the last ends in "..."
  DTypeSet dtypes = kAny;
  std::string_view type_rule;
  std::string_view gradient;       // "zero", "none" or a rule
  std::string_view decomposition;  // "none" for a primitive
  uint32_t traits = 0;
  std::string_view meaning;

  bool has(OpTrait trait) const { return (traits & trait) != 0; }
  bool composite() const { return decomposition != "none"; }
};

const OpInfo& info(Op op);
std::span<const OpInfo> all_ops();
std::optional<Op> find_op(std::string_view name);
std::vector<std::string> op_names();  // those that a file may use
inline std::string_view name(Op op) { return info(op).name; }

}  // namespace weft
