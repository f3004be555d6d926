// What the operands and attributes of `attention` and `attention_grad` mean, said once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "ir/graph/graph.h"

namespace weft {

inline bool is_attention(Op op) { return op == Op::attention || op == Op::attention_grad; }

// Where the operands are that may be left out.
struct AttentionExtras {
  std::optional<size_t> bias;
  std::optional<size_t> mask;
  std::optional<size_t> lengths;
  std::optional<size_t> rng;
};

// Told by the element types of all operands: floats are the bias, bool the mask, i32 and i64 the
// lengths, u32 the rng. Nothing if one is of another type, there twice or out of order.
std::optional<AttentionExtras> attention_extras(Op op, std::span<const DType> operands);
// Of a node, whose types were checked; its operands are those given, in `graph`.
AttentionExtras attention_extras(const Graph& graph, Op op, const std::vector<Value>& operands);

// A limit of the window on one side; nothing if there is none, or one that no size reaches.
std::optional<int64_t> window_limit(const Attrs& attrs, std::string_view side);

// The type of row statistics: 16-bit floats could not hold them.
inline DType attention_row_type(DType dtype) { return byte_size(dtype) == 2 ? DType::f32 : dtype; }

}  // namespace weft
