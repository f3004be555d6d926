// Type rules of losses, dropout and optimizer steps.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

// logits [.., V], targets [..] -> [..]
InferredTypes loss_per_position(const InferArgs& args) {
  WEFT_TRY_STATUS(check_min_rank(args, 0, 1));
  WEFT_TRY_STATUS(check_dtype(args, 1, kIndex));
  const Type& logits = args.operands[0];
  Shape positions(logits.shape.begin(), logits.shape.end() - 1);
  WEFT_TRY_STATUS(check_shape(args, 1, positions, "the shape of logits without its last axis"));
  DType targets = args.operands[1].dtype;
  int64_t ignored = args.attrs.integer("ignore_index");
  WEFT_TRY_STATUS(
      check_attr(args, "ignore_index",
                 ignored >= lowest_integer(targets) && ignored <= highest_integer(targets),
                 cat("a number of type ", name(targets), ", as targets has")));
  return one(logits.dtype, std::move(positions));
}

Status check_like_param(const InferArgs& args, size_t operand) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, operand));
  return check_shape(args, operand, args.operands[0].shape, "the shape of param");
}

Status check_fraction(const InferArgs& args, std::string_view attr) {
  double value = args.attrs.real(attr);
  return check_attr(args, attr, value >= 0 && value < 1, cat("0 <= ", attr, " < 1"));
}

Status check_not_negative(const InferArgs& args, std::string_view attr) {
  double value = args.attrs.real(attr);
  return check_attr(args, attr, value >= 0 && std::isfinite(value),
                    cat("a finite ", attr, " >= 0"));
}

}  // namespace

InferredTypes infer_cross_entropy(const InferArgs& args) {
  double smoothing = args.attrs.real("label_smoothing");
  WEFT_TRY_STATUS(check_attr(args, "label_smoothing", smoothing >= 0 && smoothing <= 1,
                             "0 <= label_smoothing <= 1"));
  return loss_per_position(args);
}

InferredTypes infer_focal(const InferArgs& args) {
  WEFT_TRY_STATUS(check_not_negative(args, "gamma"));
  return loss_per_position(args);
}

InferredTypes infer_mse(const InferArgs& args) {
  WEFT_TRY_STATUS(check_same_dtype(args, 0, 1));
  WEFT_TRY_STATUS(check_axes_agree(args, 0, 1, -1));
  return one(args.operands[0].dtype, {});
}

InferredTypes infer_sgd(const InferArgs& args) {
  const Type& param = args.operands[0];
  WEFT_TRY_STATUS(check_like_param(args, 1));
  WEFT_TRY_STATUS(check_like_param(args, 2));
  WEFT_TRY_STATUS(check_scalar(args, 3, set_of(param.dtype)));
  WEFT_TRY_STATUS(check_fraction(args, "momentum"));
  WEFT_TRY_STATUS(check_not_negative(args, "weight_decay"));
  return std::vector<Type>{param, param};
}

InferredTypes infer_adam(const InferArgs& args) {
  const Type& param = args.operands[0];
  for (size_t operand : {1, 2, 3}) WEFT_TRY_STATUS(check_like_param(args, operand));
  WEFT_TRY_STATUS(check_scalar(args, 4, set_of(param.dtype)));
  WEFT_TRY_STATUS(check_scalar(args, 5, set_of(DType::i32)));
  WEFT_TRY_STATUS(check_fraction(args, "beta1"));
  WEFT_TRY_STATUS(check_fraction(args, "beta2"));
  double eps = args.attrs.real("eps");
  WEFT_TRY_STATUS(check_attr(args, "eps", eps > 0 && std::isfinite(eps), "a finite eps > 0"));
  WEFT_TRY_STATUS(check_not_negative(args, "weight_decay"));
  return std::vector<Type>{param, param, param};
}

}  // namespace weft
