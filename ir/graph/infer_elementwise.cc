// Type rules of elementwise ops.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

Result<Shape> broadcast_both(const InferArgs& args) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 1));
  return broadcast_or_fail(args, args.operands[0].shape, args.operands[1].shape, "shapes");
}

}  // namespace

InferredTypes infer_same(const InferArgs& args) { return std::vector<Type>{args.operands[0]}; }

InferredTypes infer_clamp(const InferArgs& args) {
  // Written so that a NaN fails.
  WEFT_TRY_STATUS(check_attr(args, "min", args.attrs.real("min") <= args.attrs.real("max"),
                             cat("min <= max, with max = ", format_real(args.attrs.real("max")))));
  return infer_same(args);
}

InferredTypes infer_cast(const InferArgs& args) {
  return one(args.attrs.dtype("dtype"), args.operands[0].shape);
}

InferredTypes infer_predicate(const InferArgs& args) {
  return one(DType::boolean, args.operands[0].shape);
}

InferredTypes infer_broadcast(const InferArgs& args) {
  WEFT_TRY(Shape shape, broadcast_both(args));
  return one(args.operands[0].dtype, std::move(shape));
}

InferredTypes infer_compare(const InferArgs& args) {
  WEFT_TRY(Shape shape, broadcast_both(args));
  return one(DType::boolean, std::move(shape));
}

InferredTypes infer_select(const InferArgs& args) {
  WEFT_TRY_STATUS(check_same_dtype(args, 1, 2));
  WEFT_TRY(Shape sides, broadcast_or_fail(args, args.operands[1].shape, args.operands[2].shape,
                                          "shapes of on_true and on_false"));
  WEFT_TRY(Shape shape, broadcast_or_fail(args, args.operands[0].shape, sides,
                                          "shapes of the condition and the sides"));
  return one(args.operands[1].dtype, std::move(shape));
}

}  // namespace weft
