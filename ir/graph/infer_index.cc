// Type rules of gather, scatter and slices at run-time positions.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

size_t axis_of(const InferArgs& args) { return static_cast<size_t>(args.attrs.integer("axis")); }

// [.., N, ..] and indices [I..] -> [.., I.., ..]
Shape gathered(const InferArgs& args) {
  const Shape& in = args.operands[0].shape;
  const Shape& indices = args.operands[1].shape;
  auto at = in.begin() + static_cast<std::ptrdiff_t>(axis_of(args));
  Shape shape(in.begin(), at);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), at + 1, in.end());
  return shape;
}

Status check_fits(const InferArgs& args, const Dim& part) {
  const Type& in = args.operands[0];
  const Dim& whole = in.shape[axis_of(args)];
  if (!surely_less(args, whole, part)) return ok();
  return args.fail("a slice of size ", part, " does not fit into size ", whole, " of axis ",
                   axis_of(args), " of ", in);
}

}  // namespace

InferredTypes infer_gather(const InferArgs& args) {
  WEFT_TRY_STATUS(check_dtype(args, 1, kIndex));
  return one(args.operands[0].dtype, gathered(args));
}

InferredTypes infer_scatter(const InferArgs& args) {
  WEFT_TRY_STATUS(check_dtype(args, 1, kIndex));
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 2));
  WEFT_TRY_STATUS(check_shape(args, 2, gathered(args), "the shape that gather would give"));
  return infer_same(args);
}

InferredTypes infer_take_along(const InferArgs& args) {
  WEFT_TRY_STATUS(check_dtype(args, 1, kIndex));
  WEFT_TRY_STATUS(check_axes_agree(args, 0, 1, args.attrs.integer("axis")));
  Shape shape = args.operands[0].shape;
  shape[axis_of(args)] = args.operands[1].shape[axis_of(args)];
  return one(args.operands[0].dtype, std::move(shape));
}

InferredTypes infer_add_along(const InferArgs& args) {
  WEFT_TRY_STATUS(check_dtype(args, 1, kIndex));
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 2));
  WEFT_TRY_STATUS(check_axes_agree(args, 0, 1, args.attrs.integer("axis")));
  WEFT_TRY_STATUS(check_shape(args, 2, args.operands[1].shape, "the shape of indices"));
  return infer_same(args);
}

InferredTypes infer_one_hot(const InferArgs& args) {
  Shape shape = args.operands[0].shape;
  shape.push_back(args.attrs.dim("depth"));
  return one(args.attrs.dtype("dtype"), std::move(shape));
}

InferredTypes infer_dynamic_slice(const InferArgs& args) {
  WEFT_TRY_STATUS(check_scalar(args, 1, kIndex));
  const Dim& size = args.attrs.dim("size");
  WEFT_TRY_STATUS(check_fits(args, size));
  Shape shape = args.operands[0].shape;
  shape[axis_of(args)] = size;
  return one(args.operands[0].dtype, std::move(shape));
}

InferredTypes infer_update_slice(const InferArgs& args) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 1));
  WEFT_TRY_STATUS(check_axes_agree(args, 0, 1, args.attrs.integer("axis")));
  WEFT_TRY_STATUS(check_fits(args, args.operands[1].shape[axis_of(args)]));
  WEFT_TRY_STATUS(check_scalar(args, 2, kIndex));
  return infer_same(args);
}

}  // namespace weft
