// Type rules of attention and its gradient.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/graph/attention.h"
#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

Shape with(Shape shape, const Dim& last) {
  shape.push_back(last);
  return shape;
}

// Sizes of the operands: q [lead, T, D], k [lead, S, D], v [lead, S, E].
struct Sizes {
  Shape lead;
  Dim t;
  Dim s;
  Dim e;

  Shape scores() const { return with(with(lead, t), s); }
  Shape rows() const { return with(lead, t); }
  Shape out() const { return with(rows(), e); }
};

// `what` of the given shape can be stretched to `to`.
Status check_stretches(const InferArgs& args, std::string_view what, const Shape& shape,
                       const Shape& to) {
  std::optional<Shape> both = broadcast_shapes(shape, to, args.facts);
  if (both && same_shape(*both, to, args.facts)) return ok();
  return args.fail(what, " ", shape, " does not stretch to ", to);
}

Status check_inner(const InferArgs& args, std::string_view what, const Dim& a, const Dim& b) {
  if (args.facts.equal(a, b)) return ok();
  return args.fail(what, " differ (", a, " and ", b, ")").hint(equality_hint(a, b));
}

Result<Sizes> check_factors(const InferArgs& args) {
  for (size_t operand : {0, 1, 2}) {
    WEFT_TRY_STATUS(check_same_dtype(args, 0, operand));
    WEFT_TRY_STATUS(check_min_rank(args, operand, 2));
  }
  const Shape& q = args.operands[0].shape;
  const Shape& k = args.operands[1].shape;
  const Shape& v = args.operands[2].shape;
  WEFT_TRY_STATUS(check_inner(args, "the last sizes of q and k", q.back(), k.back()));
  WEFT_TRY_STATUS(
      check_inner(args, "the numbers of keys in k and v", k[k.size() - 2], v[v.size() - 2]));
  WEFT_TRY(Shape lead, broadcast_or_fail(args, leading(q), leading(k), "leading axes of q and k"));
  WEFT_TRY_STATUS(check_stretches(args, "leading axes of v,", leading(v), lead));
  return Sizes{lead, q[q.size() - 2], k[k.size() - 2], v.back()};
}

Status check_extras(const InferArgs& args, const Sizes& sizes) {
  std::vector<DType> dtypes;
  for (const Type& type : args.operands) dtypes.push_back(type.dtype);
  std::optional<AttentionExtras> extras = attention_extras(args.op, dtypes);
  if (!extras) {
    return args.fail("the operands after the first ", info(args.op).required,
                     " are at most one each of bias (float), mask (bool), lengths (i32 or i64) and "
                     "rng (u32), in this order");
  }
  if (extras->bias) {
    WEFT_TRY_STATUS(check_same_dtype(args, 0, *extras->bias));
    WEFT_TRY_STATUS(
        check_stretches(args, "bias", args.operands[*extras->bias].shape, sizes.scores()));
  }
  if (extras->mask) {
    WEFT_TRY_STATUS(
        check_stretches(args, "mask", args.operands[*extras->mask].shape, sizes.scores()));
  }
  if (extras->lengths) {
    WEFT_TRY_STATUS(
        check_stretches(args, "lengths", args.operands[*extras->lengths].shape, sizes.lead));
  }
  if (extras->rng) WEFT_TRY_STATUS(check_rng(args, *extras->rng));
  bool drops = args.attrs.real("rate") > 0;
  if (drops == extras->rng.has_value()) return ok();
  return args.fail(drops ? "a rate above 0 needs an rng" : "an rng needs a rate above 0");
}

Status check_attrs(const InferArgs& args) {
  double fill = args.attrs.real("fill");
  double rate = args.attrs.real("rate");
  WEFT_TRY_STATUS(
      check_attr(args, "scale", std::isfinite(args.attrs.real("scale")), "a finite scale"));
  WEFT_TRY_STATUS(
      check_attr(args, "fill", std::isfinite(fill) || fill < 0, "a finite fill, or -inf"));
  WEFT_TRY_STATUS(check_attr(args, "rate", rate >= 0 && rate < 1, "0 <= rate < 1"));
  for (std::string_view side : {"before", "after"}) {
    WEFT_TRY_STATUS(check_attr(args, side, args.attrs.integer(side) >= -1, cat(side, " >= -1")));
  }
  return check_stream(args);
}

Result<Sizes> check_attention(const InferArgs& args) {
  WEFT_TRY_STATUS(check_attrs(args));
  WEFT_TRY(Sizes sizes, check_factors(args));
  WEFT_TRY_STATUS(check_extras(args, sizes));
  return sizes;
}

}  // namespace

InferredTypes infer_attention(const InferArgs& args) {
  WEFT_TRY(Sizes sizes, check_attention(args));
  DType dtype = args.operands[0].dtype;
  return std::vector<Type>{{dtype, sizes.out()}, {attention_row_type(dtype), sizes.rows()}};
}

InferredTypes infer_attention_grad(const InferArgs& args) {
  WEFT_TRY(Sizes sizes, check_attention(args));
  DType dtype = args.operands[0].dtype;
  for (size_t row : {3, 4}) {
    WEFT_TRY_STATUS(check_dtype(args, row, set_of(attention_row_type(dtype))));
    WEFT_TRY_STATUS(check_shape(args, row, sizes.rows(), "the shape of attention's lse"));
  }
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 5));
  WEFT_TRY_STATUS(check_shape(args, 5, sizes.out(), "the shape of attention's out"));
  std::vector<Type> types(args.operands.begin(), args.operands.begin() + 3);
  bool biased = args.operands.size() > 6 && is_float(args.operands[6].dtype);
  types.push_back(biased ? args.operands[6] : Type{dtype, {}});
  return types;
}

}  // namespace weft
