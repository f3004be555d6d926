// The type rules named in the op table, infer_<rule>, and the checks they share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/infer.h"

namespace weft {

using InferredTypes = Result<std::vector<Type>>;

// A rule may rely on the operand count and on the first operand's element type, and need not check
// the sizes of its results: infer_types does both.
InferredTypes infer_add_along(const InferArgs& args);
InferredTypes infer_adam(const InferArgs& args);
InferredTypes infer_argmax(const InferArgs& args);
InferredTypes infer_attention(const InferArgs& args);
InferredTypes infer_attention_grad(const InferArgs& args);
InferredTypes infer_broadcast(const InferArgs& args);
InferredTypes infer_broadcast_to(const InferArgs& args);
InferredTypes infer_cast(const InferArgs& args);
InferredTypes infer_causal_mask(const InferArgs& args);
InferredTypes infer_chunked(const InferArgs& args);
InferredTypes infer_clamp(const InferArgs& args);
InferredTypes infer_compare(const InferArgs& args);
InferredTypes infer_concat(const InferArgs& args);
InferredTypes infer_constant(const InferArgs& args);
InferredTypes infer_cross_entropy(const InferArgs& args);
InferredTypes infer_declared(const InferArgs& args);
InferredTypes infer_dropout(const InferArgs& args);
InferredTypes infer_dynamic_slice(const InferArgs& args);
InferredTypes infer_focal(const InferArgs& args);
InferredTypes infer_fold_patches(const InferArgs& args);
InferredTypes infer_gather(const InferArgs& args);
InferredTypes infer_global_norm(const InferArgs& args);
InferredTypes infer_iota(const InferArgs& args);
InferredTypes infer_layer_norm(const InferArgs& args);
InferredTypes infer_matmul(const InferArgs& args);
InferredTypes infer_mse(const InferArgs& args);
InferredTypes infer_one_hot(const InferArgs& args);
InferredTypes infer_pad(const InferArgs& args);
InferredTypes infer_padding_mask(const InferArgs& args);
InferredTypes infer_patches(const InferArgs& args);
InferredTypes infer_predicate(const InferArgs& args);
InferredTypes infer_random_bits(const InferArgs& args);
InferredTypes infer_reduce(const InferArgs& args);
InferredTypes infer_reduce_axis(const InferArgs& args);
InferredTypes infer_region(const InferArgs& args);
InferredTypes infer_reshape(const InferArgs& args);
InferredTypes infer_rms_norm(const InferArgs& args);
InferredTypes infer_same(const InferArgs& args);
InferredTypes infer_scatter(const InferArgs& args);
InferredTypes infer_select(const InferArgs& args);
InferredTypes infer_sgd(const InferArgs& args);
InferredTypes infer_slice(const InferArgs& args);
InferredTypes infer_take_along(const InferArgs& args);
InferredTypes infer_top_k(const InferArgs& args);
InferredTypes infer_transpose(const InferArgs& args);
InferredTypes infer_update_slice(const InferArgs& args);
InferredTypes infer_window_mask(const InferArgs& args);

// For strides, gaps and windows: no axis is longer, and backends may multiply and add two of them
// without leaving 64 bits.
inline constexpr int64_t kLargestStep = DimFacts::kDefaultHigh;

// One result.
inline InferredTypes one(DType dtype, Shape shape) {
  return std::vector<Type>{Type{dtype, std::move(shape)}};
}

Status check_operand_count(Op op, size_t count, const Loc& loc);
// The name the op table gives an operand: "rhs"; of a variadic op "inputs[2]". One that may be left
// out has no name but its place.
std::string operand_name(const InferArgs& args, size_t operand);

Status check_dtype(const InferArgs& args, size_t operand, DTypeSet expected);
Status check_same_dtype(const InferArgs& args, size_t first, size_t second);
Status check_min_rank(const InferArgs& args, size_t operand, size_t rank);
Status check_rank(const InferArgs& args, size_t operand, size_t rank);
// `operand` has the given shape; `why` ends the message ("the shape of param").
Status check_shape(const InferArgs& args, size_t operand, const Shape& expected,
                   std::string_view why);
Status check_scalar(const InferArgs& args, size_t operand, DTypeSet expected);
// The seed and step of random ops: u32[2].
Status check_rng(const InferArgs& args, size_t operand);
Status check_stream(const InferArgs& args);
// An attribute that must satisfy `holds`, spelt as `requirement` ("0 <= rate < 1").
Status check_attr(const InferArgs& args, std::string_view attr, bool holds,
                  std::string_view requirement);
// Two lists of sizes that must agree on every axis but `except` (-1: on all).
Status check_axes_agree(const InferArgs& args, size_t first, size_t second, int64_t except);

// The shape that `a` and `b` broadcast to; `what` names them in the error ("shapes").
Result<Shape> broadcast_or_fail(const InferArgs& args, const Shape& a, const Shape& b,
                                std::string_view what);
// True if a < b for every size of the symbols; false if it depends, or is unknown.
bool surely_less(const InferArgs& args, const Dim& a, const Dim& b);
// "assert B == T" if stating so would make the two equal, else nothing.
std::string equality_hint(const Dim& a, const Dim& b);

}  // namespace weft
