// Type rules of patches and their transpose.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

Status check_pair(const InferArgs& args, std::string_view attr) {
  const std::vector<int64_t>& pair = args.attrs.ints(attr);
  auto step = [](int64_t n) { return n >= 1 && n <= kLargestStep; };
  bool good = pair.size() == 2 && step(pair[0]) && step(pair[1]);
  return check_attr(args, attr, good, cat("height and width, each in 1 to ", kLargestStep));
}

Status check_image(const InferArgs& args) {
  WEFT_TRY_STATUS(check_rank(args, 0, 4));
  WEFT_TRY_STATUS(check_pair(args, "size"));
  return check_pair(args, "stride");
}

// The number of windows of the op's size and stride along axis 0 (height) or 1 (width).
Result<Dim> windows(const InferArgs& args, size_t axis, const Dim& extent) {
  int64_t window = args.attrs.ints("size")[axis];
  if (surely_less(args, extent, window)) {
    return args.fail("a window of ", window, " does not fit into ",
                     axis == 0 ? "height " : "width ", extent);
  }
  return window_count(extent, window, args.attrs.ints("stride")[axis]);
}

Dim window_area(const InferArgs& args) {
  const std::vector<int64_t>& size = args.attrs.ints("size");
  return Dim(size[0]) * Dim(size[1]);
}

}  // namespace

InferredTypes infer_patches(const InferArgs& args) {
  WEFT_TRY_STATUS(check_image(args));
  const Type& in = args.operands[0];  // [B, H, W, C]
  WEFT_TRY(Dim rows, windows(args, 0, in.shape[1]));
  WEFT_TRY(Dim cols, windows(args, 1, in.shape[2]));
  return one(in.dtype, {in.shape[0], rows, cols, window_area(args) * in.shape[3]});
}

InferredTypes infer_fold_patches(const InferArgs& args) {
  WEFT_TRY_STATUS(check_image(args));
  const Type& in = args.operands[0];  // [B, H', W', size0 * size1 * C]
  const Dim& height = args.attrs.dim("height");
  const Dim& width = args.attrs.dim("width");
  WEFT_TRY(Dim rows, windows(args, 0, height));
  WEFT_TRY(Dim cols, windows(args, 1, width));
  Shape expected = {in.shape[0], rows, cols, in.shape[3]};
  WEFT_TRY_STATUS(
      check_shape(args, 0, expected, cat("the windows of a ", height, " by ", width, " image")));
  Dim area = window_area(args);
  Dim last = args.facts.canonical(in.shape[3]);
  Dim channels = Dim::floor_div(last, area);
  if (!args.facts.equal(channels * area, last)) {
    return args.fail("last axis ", in.shape[3], " of ", in, " is not a multiple of the window's ",
                     area, " elements");
  }
  return one(in.dtype, {in.shape[0], height, width, channels});
}

}  // namespace weft
