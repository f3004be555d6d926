// Type rules of views, concat and pad.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

// A list attribute with one entry per axis of the operand; `optional` ones may be empty.
Status check_per_axis(const InferArgs& args, std::string_view attr, size_t entries, bool optional) {
  const Type& in = args.operands[0];
  if (entries == in.rank() || (optional && entries == 0)) return ok();
  return args.fail(attr, " has ", entries, entries == 1 ? " entry" : " entries",
                   "; expected one per axis of ", in, ", ", in.rank());
}

Status check_slice_axis(const InferArgs& args, size_t axis, int64_t stride) {
  const Dim& start = args.attrs.dims("starts")[axis];
  const Dim& limit = args.attrs.dims("limits")[axis];
  const Dim& size = args.operands[0].shape[axis];
  if (surely_less(args, start, 0)) {
    return args.fail("start ", start, " is negative on axis ", axis);
  }
  if (surely_less(args, limit, start)) {
    return args.fail("start ", start, " lies beyond limit ", limit, " on axis ", axis);
  }
  if (surely_less(args, size, limit)) {
    return args.fail("limit ", limit, " exceeds size ", size, " of axis ", axis);
  }
  if (stride >= 1 && stride <= kLargestStep) return ok();
  return args.fail("stride ", stride, " on axis ", axis, " is not in 1 to ", kLargestStep);
}

Status check_pad_value(const InferArgs& args) {
  DType dtype = args.operands[0].dtype;
  if (is_float(dtype)) return ok();
  double value = args.attrs.real("value");
  bool whole = std::isfinite(value) && value == std::trunc(value);
  // The bounds are exact doubles but for i64's upper one, which rounds up to the excluded 2^63.
  bool fits = value >= static_cast<double>(lowest_integer(dtype)) &&
              value < static_cast<double>(highest_integer(dtype)) + 1;
  return check_attr(args, "value", whole && fits, cat("a number of type ", name(dtype)));
}

// The sizes -1 of other frameworks are not inferred; the hint says what to write.
Error minus_one(const InferArgs& args, const Dim& count, const Shape& shape) {
  Dim rest(1);
  for (const Dim& dim : shape) rest = dim.is_constant(-1) ? rest : rest * dim;
  Dim missing = Dim::floor_div(count, rest);
  std::string hint = "write the size out";
  if (!missing.overflowed() && args.facts.equal(missing * rest, count)) {
    hint = cat("write ", missing, " instead of -1");
  }
  return args.fail("size -1 is not inferred in ", shape).hint(hint);
}

}  // namespace

InferredTypes infer_reshape(const InferArgs& args) {
  const Type& in = args.operands[0];
  const Shape& shape = args.attrs.dims("shape");
  Dim before = element_count(in.shape);
  if (std::count(shape.begin(), shape.end(), Dim(-1)) == 1) return minus_one(args, before, shape);
  if (std::optional<std::string> fault = type_fault({in.dtype, shape})) return args.fail(*fault);
  Dim after = element_count(shape);
  if (!args.facts.equal(before, after)) {
    return args.fail("element counts of ", in.shape, " and ", shape, " differ (", before, " and ",
                     after, ")");
  }
  return one(in.dtype, shape);
}

InferredTypes infer_transpose(const InferArgs& args) {
  const Type& in = args.operands[0];
  const std::vector<int64_t>& perm = args.attrs.ints("perm");
  WEFT_TRY_STATUS(check_per_axis(args, "perm", perm.size(), false));
  std::vector<bool> seen(in.rank(), false);
  Shape shape;
  for (int64_t axis : perm) {
    bool fresh =
        axis >= 0 && axis < static_cast<int64_t>(in.rank()) && !seen[static_cast<size_t>(axis)];
    WEFT_TRY_STATUS(
        check_attr(args, "perm", fresh, cat("each of the axes 0 to ", in.rank() - 1, " once")));
    seen[static_cast<size_t>(axis)] = true;
    shape.push_back(in.shape[static_cast<size_t>(axis)]);
  }
  return one(in.dtype, std::move(shape));
}

InferredTypes infer_broadcast_to(const InferArgs& args) {
  const Type& in = args.operands[0];
  const Shape& shape = args.attrs.dims("shape");
  if (shape.size() < in.rank()) {
    return args.fail(in, " has more axes than ", shape, " (", in.rank(), " and ", shape.size(),
                     ")");
  }
  size_t offset = shape.size() - in.rank();
  for (size_t i = 0; i < in.rank(); ++i) {
    const Dim& from = in.shape[i];
    const Dim& to = shape[offset + i];
    if (from.is_constant(1) || args.facts.equal(from, to)) continue;
    return args.fail(in.shape, " does not stretch to ", shape, " (", from, " and ", to, " differ)")
        .hint(equality_hint(from, to));
  }
  return one(in.dtype, shape);
}

InferredTypes infer_slice(const InferArgs& args) {
  const Type& in = args.operands[0];
  const std::vector<Dim>& starts = args.attrs.dims("starts");
  const std::vector<Dim>& limits = args.attrs.dims("limits");
  const std::vector<int64_t>& strides = args.attrs.ints("strides");
  WEFT_TRY_STATUS(check_per_axis(args, "starts", starts.size(), false));
  WEFT_TRY_STATUS(check_per_axis(args, "limits", limits.size(), false));
  WEFT_TRY_STATUS(check_per_axis(args, "strides", strides.size(), true));
  Shape shape;
  for (size_t i = 0; i < in.rank(); ++i) {
    int64_t stride = strides.empty() ? 1 : strides[i];
    WEFT_TRY_STATUS(check_slice_axis(args, i, stride));
    shape.push_back(sliced_size(starts[i], limits[i], stride));
  }
  return one(in.dtype, std::move(shape));
}

InferredTypes infer_concat(const InferArgs& args) {
  int64_t axis = args.attrs.integer("axis");
  Type result = args.operands[0];
  Dim& size = result.shape[static_cast<size_t>(axis)];
  for (size_t i = 1; i < args.operands.size(); ++i) {
    WEFT_TRY_STATUS(check_same_dtype(args, 0, i));
    WEFT_TRY_STATUS(check_axes_agree(args, 0, i, axis));
    size = size + args.operands[i].shape[static_cast<size_t>(axis)];
  }
  return std::vector<Type>{std::move(result)};
}

InferredTypes infer_pad(const InferArgs& args) {
  const Type& in = args.operands[0];
  const std::vector<Dim>& low = args.attrs.dims("low");
  const std::vector<Dim>& high = args.attrs.dims("high");
  const std::vector<int64_t>& interior = args.attrs.ints("interior");
  WEFT_TRY_STATUS(check_per_axis(args, "low", low.size(), false));
  WEFT_TRY_STATUS(check_per_axis(args, "high", high.size(), false));
  WEFT_TRY_STATUS(check_per_axis(args, "interior", interior.size(), true));
  WEFT_TRY_STATUS(check_pad_value(args));
  Shape shape;
  for (size_t i = 0; i < in.rank(); ++i) {
    int64_t between = interior.empty() ? 0 : interior[i];
    for (const Dim& amount : {low[i], high[i], Dim(between)}) {
      if (surely_less(args, amount, 0)) {
        return args.fail("padding ", amount, " is negative on axis ", i)
            .hint("use slice to take elements away");
      }
    }
    if (between > kLargestStep) {
      return args.fail("interior ", between, " on axis ", i, " is more than ", kLargestStep);
    }
    shape.push_back(padded_size(in.shape[i], low[i], high[i], between));
  }
  return one(in.dtype, std::move(shape));
}

}  // namespace weft
