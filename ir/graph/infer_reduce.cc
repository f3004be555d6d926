// Type rules of matmul, reductions and row ops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

Shape reduced(const Shape& shape, const std::vector<int64_t>& axes, bool keepdims) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool gone = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!gone) {
      result.push_back(shape[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

// Positions along an axis are i32.
Status check_indexable(const InferArgs& args, const Dim& size) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (!surely_less(args, kLargest, size)) return ok();
  return args.fail("size ", size, " of the axis is too large for i32 indices");
}

Status check_row_vector(const InferArgs& args, size_t operand) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, operand));
  return check_shape(args, operand, {args.operands[0].shape.back()}, "the size of the last axis");
}

Status check_eps(const InferArgs& args) {
  double eps = args.attrs.real("eps");
  return check_attr(args, "eps", eps > 0 && std::isfinite(eps), "a finite eps > 0");
}

}  // namespace

InferredTypes infer_matmul(const InferArgs& args) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 1));
  WEFT_TRY_STATUS(check_min_rank(args, 0, 2));
  WEFT_TRY_STATUS(check_min_rank(args, 1, 2));
  const Shape& lhs = args.operands[0].shape;
  const Shape& rhs = args.operands[1].shape;
  const Dim& k = lhs.back();
  const Dim& kr = rhs[rhs.size() - 2];
  if (!args.facts.equal(k, kr)) {
    bool transposed = args.facts.equal(k, rhs.back());
    return args.fail("inner dimensions differ (", k, " and ", kr, ")")
        .note(args.operand_loc(1), "right operand defined here")
        .hint(transposed ? "transpose the right operand" : equality_hint(k, kr));
  }
  WEFT_TRY(Shape shape, broadcast_or_fail(args, Shape(lhs.begin(), lhs.end() - 2),
                                          Shape(rhs.begin(), rhs.end() - 2), "batch axes"));
  shape.push_back(lhs[lhs.size() - 2]);
  shape.push_back(rhs.back());
  return one(args.operands[0].dtype, std::move(shape));
}

InferredTypes infer_reduce(const InferArgs& args) {
  const Type& in = args.operands[0];
  return one(in.dtype, reduced(in.shape, args.attrs.ints("axes"), args.attrs.boolean("keepdims")));
}

InferredTypes infer_reduce_axis(const InferArgs& args) {
  const Type& in = args.operands[0];
  return one(in.dtype,
             reduced(in.shape, {args.attrs.integer("axis")}, args.attrs.boolean("keepdims")));
}

InferredTypes infer_argmax(const InferArgs& args) {
  const Type& in = args.operands[0];
  int64_t axis = args.attrs.integer("axis");
  const Dim& size = in.shape[static_cast<size_t>(axis)];
  if (surely_less(args, size, 1)) {
    return args.fail("axis ", axis, " of ", in, " is empty; there is no largest element");
  }
  WEFT_TRY_STATUS(check_indexable(args, size));
  return one(DType::i32, reduced(in.shape, {axis}, args.attrs.boolean("keepdims")));
}

InferredTypes infer_top_k(const InferArgs& args) {
  WEFT_TRY_STATUS(check_min_rank(args, 0, 1));
  const Type& in = args.operands[0];
  int64_t k = args.attrs.integer("k");
  WEFT_TRY_STATUS(check_attr(args, "k", k >= 0 && !surely_less(args, in.shape.back(), k),
                             cat("0 <= k <= ", in.shape.back(), ", the size of the last axis")));
  WEFT_TRY_STATUS(check_indexable(args, in.shape.back()));
  Shape shape = in.shape;
  shape.back() = k;
  return std::vector<Type>{{in.dtype, shape}, {DType::i32, shape}};
}

InferredTypes infer_global_norm(const InferArgs& args) {
  for (size_t i = 1; i < args.operands.size(); ++i) {
    WEFT_TRY_STATUS(check_same_dtype(args, 0, i));
  }
  return one(args.operands[0].dtype, {});
}

InferredTypes infer_layer_norm(const InferArgs& args) {
  WEFT_TRY_STATUS(check_min_rank(args, 0, 1));
  WEFT_TRY_STATUS(check_row_vector(args, 1));
  WEFT_TRY_STATUS(check_row_vector(args, 2));
  WEFT_TRY_STATUS(check_eps(args));
  return infer_same(args);
}

InferredTypes infer_rms_norm(const InferArgs& args) {
  WEFT_TRY_STATUS(check_min_rank(args, 0, 1));
  WEFT_TRY_STATUS(check_row_vector(args, 1));
  WEFT_TRY_STATUS(check_eps(args));
  return infer_same(args);
}

}  // namespace weft
