// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/infer.h"

#include "ir/graph/infer_rules.h"
#include "ir/support/check.h"

namespace weft {
namespace {

using InferRule = InferredTypes (*)(const InferArgs& args);

constexpr InferRule kRules[] = {
#define OP(name, operands, attrs, results, dtypes, rule, ...) infer_##rule,
#include "ir/graph/ops.def"
#undef OP
};

std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b, const DimFacts& facts) {
  if (a.is_constant(1)) return b;
  if (b.is_constant(1) || facts.equal(a, b)) return a;
  return std::nullopt;
}

}  // namespace

InferredTypes infer_declared(const InferArgs& args) {
  WEFT_CHECK(false, "the type of " + std::string(name(args.op)) + " is stated, not inferred");
  return std::vector<Type>{};
}

Result<std::vector<Type>> infer_types(const InferArgs& args) {
  const OpInfo& op = info(args.op);
  WEFT_TRY_STATUS(check_operand_count(args.op, args.operands.size(), args.loc));
  if (!args.operands.empty() && !contains(op.dtypes, args.operands[0].dtype)) {
    return args
        .fail("element type ", name(args.operands[0].dtype), " is not supported; expected ",
              describe(op.dtypes))
        .note(args.operand_loc(0), operand_name(args, 0) + " defined here");
  }
  WEFT_TRY(std::vector<Type> types, kRules[static_cast<size_t>(args.op)](args));
  WEFT_CHECK(op.has(kBody) || types.size() == op.results.size(),
             "a type rule gives one type per result");
  for (const Type& type : types) {
    if (std::optional<std::string> fault = type_fault(type)) return args.fail(*fault);
  }
  return types;
}

std::optional<std::string> type_fault(const Type& type) {
  if (type.rank() > kMaxRank) {
    return cat(type.rank(), " axes are more than the limit of ", kMaxRank);
  }
  for (const Dim& dim : type.shape) {
    if (dim.overflowed()) return cat("size is too large in ", type);
    if (dim.is_constant() && dim.constant() < 0) {
      return cat("size ", dim, " is negative in ", type);
    }
  }
  if ((element_count(type.shape) * Dim(byte_size(type.dtype))).overflowed()) {
    return cat("size is too large: ", type, " has more bytes than 64 bits can count");
  }
  return std::nullopt;
}

Dim sliced_size(const Dim& start, const Dim& limit, int64_t stride) {
  return Dim::floor_div(limit - start + Dim(stride) - 1, stride);
}

Dim padded_size(const Dim& size, const Dim& low, const Dim& high, int64_t interior) {
  // An empty axis has no neighbours to put anything between.
  return low + size + high + Dim(interior) * Dim::max(size - 1, 0);
}

Dim window_count(const Dim& size, int64_t window, int64_t stride) {
  return Dim::floor_div(size - Dim(window), stride) + 1;
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b, const DimFacts& facts) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    std::optional<Dim> dim = broadcast_dim(longer[offset + i], shorter[i], facts);
    if (!dim) return std::nullopt;
    result[offset + i] = *dim;
  }
  return result;
}

}  // namespace weft
