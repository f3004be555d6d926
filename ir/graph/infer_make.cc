// Type rules of ops made from sizes: constants, iota, masks, random bits.
// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

Status check_number_count(const InferArgs& args, const Shape& shape) {
  size_t count = args.attrs.numbers("value").size();
  if (count > kMaxInlineNumbers) {
    return args.fail(count, " numbers are more than the limit of ", kMaxInlineNumbers)
        .hint("make it a param or state, whose values lie in a file");
  }
  if (count == 1 || element_count(shape).is_constant(static_cast<int64_t>(count))) return ok();
  return args.fail(count, " numbers do not fill ", shape, "; expected 1 or ", element_count(shape));
}

Status check_numbers(const InferArgs& args, DType dtype) {
  const Numbers& numbers = args.attrs.numbers("value");
  if (is_float(dtype)) return ok();
  if (numbers.real()) {
    if (numbers.size() == 0) return ok();
    return args
        .fail(format_real(std::get<std::vector<double>>(numbers.values)[0]),
              " is not a number of type ", name(dtype))
        .hint("write whole numbers without a point, or choose a float type");
  }
  for (int64_t number : std::get<std::vector<int64_t>>(numbers.values)) {
    if (number >= lowest_integer(dtype) && number <= highest_integer(dtype)) continue;
    return args.fail(number, " is out of range for ", name(dtype), "; expected ",
                     lowest_integer(dtype), " to ", highest_integer(dtype));
  }
  return ok();
}

Status check_window(const InferArgs& args, std::string_view attr) {
  return check_attr(args, attr, args.attrs.integer(attr) >= 0, cat(attr, " >= 0"));
}

}  // namespace

InferredTypes infer_constant(const InferArgs& args) {
  DType dtype = args.attrs.dtype("dtype");
  const Shape& shape = args.attrs.dims("shape");
  if (std::optional<std::string> fault = type_fault({dtype, shape})) return args.fail(*fault);
  WEFT_TRY_STATUS(check_number_count(args, shape));
  WEFT_TRY_STATUS(check_numbers(args, dtype));
  return one(dtype, shape);
}

InferredTypes infer_iota(const InferArgs& args) {
  DType dtype = args.attrs.dtype("dtype");
  const Shape& shape = args.attrs.dims("shape");
  WEFT_TRY_STATUS(check_attr(args, "dtype", contains(info(args.op).dtypes, dtype),
                             describe(info(args.op).dtypes)));
  int64_t axis = args.attrs.integer("axis");
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) {
    return args.fail("axis ", axis, " is out of range for shape ", shape, " of rank ",
                     shape.size());
  }
  return one(dtype, shape);
}

InferredTypes infer_causal_mask(const InferArgs& args) {
  return one(DType::boolean, {args.attrs.dim("rows"), args.attrs.dim("cols")});
}

InferredTypes infer_window_mask(const InferArgs& args) {
  WEFT_TRY_STATUS(check_window(args, "before"));
  WEFT_TRY_STATUS(check_window(args, "after"));
  return infer_causal_mask(args);
}

InferredTypes infer_padding_mask(const InferArgs& args) {
  Shape shape = args.operands[0].shape;
  shape.push_back(args.attrs.dim("size"));
  return one(DType::boolean, std::move(shape));
}

InferredTypes infer_random_bits(const InferArgs& args) {
  WEFT_TRY_STATUS(check_rng(args, 0));
  WEFT_TRY_STATUS(check_stream(args));
  return one(DType::u32, args.attrs.dims("shape"));
}

InferredTypes infer_dropout(const InferArgs& args) {
  WEFT_TRY_STATUS(check_rng(args, 1));
  WEFT_TRY_STATUS(check_stream(args));
  double rate = args.attrs.real("rate");
  WEFT_TRY_STATUS(check_attr(args, "rate", rate >= 0 && rate < 1, "0 <= rate < 1"));
  return infer_same(args);
}

}  // namespace weft
