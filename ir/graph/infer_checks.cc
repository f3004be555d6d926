// Checks that several type rules share.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ir/graph/infer_rules.h"

namespace weft {
namespace {

std::string defined_here(const InferArgs& args, size_t operand) {
  return operand_name(args, operand) + " defined here";
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The rightmost pair of sizes that keeps two shapes from broadcasting.
std::pair<Dim, Dim> disagreement(const Shape& a, const Shape& b, const DimFacts& facts) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const Dim& x = a[a.size() - i];
    const Dim& y = b[b.size() - i];
    if (!broadcast_shapes({x}, {y}, facts)) return {x, y};
  }
  WEFT_CHECK(false, "shapes that do not broadcast disagree somewhere");
  return {};
}

}  // namespace

Status check_operand_count(Op op, size_t count, const Loc& loc) {
  const OpInfo& row = info(op);
  if (row.has(kBody)) return ok();  // as many as the body has inputs: its type rule looks
  size_t expected = row.operands.size();
  if (row.variadic ? count >= 1 : count >= row.required && count <= expected) return ok();
  if (expected == 0) return error(loc, row.name, ": expected no operands, got ", count);
  std::string range = row.required < expected ? cat(row.required, " to ", expected) : cat(expected);
  return error(loc, row.name, ": expected ", row.variadic ? "at least " : "", range,
               expected == 1 ? " operand (" : " operands (", joined(row.operands), "), got ",
               count);
}

std::string operand_name(const InferArgs& args, size_t operand) {
  const OpInfo& row = info(args.op);
  if (!row.variadic && operand >= row.required) return cat("operand ", operand + 1);
  if (!row.variadic) return row.operands[operand];
  std::string_view stem = row.operands.back();
  stem.remove_suffix(3);  // "..."
  return cat(stem, "[", operand, "]");
}

Status check_dtype(const InferArgs& args, size_t operand, DTypeSet expected) {
  DType dtype = args.operands[operand].dtype;
  if (contains(expected, dtype)) return ok();
  return args
      .fail(operand_name(args, operand), " has element type ", name(dtype), "; expected ",
            describe(expected))
      .note(args.operand_loc(operand), defined_here(args, operand));
}

Status check_same_dtype(const InferArgs& args, size_t first, size_t second) {
  DType a = args.operands[first].dtype;
  DType b = args.operands[second].dtype;
  if (a == b) return ok();
  return args.fail("element types differ (", name(a), " and ", name(b), ")")
      .note(args.operand_loc(second), defined_here(args, second))
      .hint(cat("cast ", operand_name(args, second), " with {dtype = ", name(a), "}"));
}

Status check_min_rank(const InferArgs& args, size_t operand, size_t rank) {
  const Type& type = args.operands[operand];
  if (type.rank() >= rank) return ok();
  return args
      .fail(operand_name(args, operand), " has type ", type, "; expected at least ", rank,
            rank == 1 ? " axis" : " axes")
      .note(args.operand_loc(operand), defined_here(args, operand));
}

Status check_rank(const InferArgs& args, size_t operand, size_t rank) {
  const Type& type = args.operands[operand];
  if (type.rank() == rank) return ok();
  return args
      .fail(operand_name(args, operand), " has type ", type, " of rank ", type.rank(),
            "; expected rank ", rank)
      .note(args.operand_loc(operand), defined_here(args, operand));
}

Status check_shape(const InferArgs& args, size_t operand, const Shape& expected,
                   std::string_view why) {
  const Shape& shape = args.operands[operand].shape;
  if (same_shape(shape, expected, args.facts)) return ok();
  std::string hint;
  for (size_t i = 0; shape.size() == expected.size() && i < shape.size() && hint.empty(); ++i) {
    if (!args.facts.equal(shape[i], expected[i])) hint = equality_hint(shape[i], expected[i]);
  }
  return args
      .fail(operand_name(args, operand), " has shape ", shape, "; expected ", expected, ", ", why)
      .note(args.operand_loc(operand), defined_here(args, operand))
      .hint(hint);
}

Status check_scalar(const InferArgs& args, size_t operand, DTypeSet expected) {
  WEFT_TRY_STATUS(check_dtype(args, operand, expected));
  return check_shape(args, operand, {}, "a scalar");
}

Status check_rng(const InferArgs& args, size_t operand) {
  WEFT_TRY_STATUS(check_dtype(args, operand, set_of(DType::u32)));
  return check_shape(args, operand, {Dim(2)}, "a seed and a step");
}

// The stream is one 32-bit word of the generator's key.
Status check_stream(const InferArgs& args) {
  int64_t stream = args.attrs.integer("stream");
  return check_attr(args, "stream", stream >= 0 && stream <= std::numeric_limits<uint32_t>::max(),
                    "0 <= stream < 2^32");
}

Status check_attr(const InferArgs& args, std::string_view attr, bool holds,
                  std::string_view requirement) {
  if (holds) return ok();
  return args.fail(attr, " is ", format(*args.attrs.find(attr)), "; expected ", requirement);
}

Status check_axes_agree(const InferArgs& args, size_t first, size_t second, int64_t except) {
  const Type& a = args.operands[first];
  const Type& b = args.operands[second];
  if (a.rank() != b.rank()) {
    return args.fail("ranks of ", a, " and ", b, " differ (", a.rank(), " and ", b.rank(), ")")
        .note(args.operand_loc(second), defined_here(args, second));
  }
  for (size_t i = 0; i < a.rank(); ++i) {
    if (static_cast<int64_t>(i) == except || args.facts.equal(a.shape[i], b.shape[i])) continue;
    return args
        .fail("sizes of ", a, " and ", b, " differ on axis ", i, " (", a.shape[i], " and ",
              b.shape[i], ")")
        .note(args.operand_loc(second), defined_here(args, second))
        .hint(equality_hint(a.shape[i], b.shape[i]));
  }
  return ok();
}

Result<Shape> broadcast_or_fail(const InferArgs& args, const Shape& a, const Shape& b,
                                std::string_view what) {
  if (std::optional<Shape> shape = broadcast_shapes(a, b, args.facts)) return *shape;
  auto [x, y] = disagreement(a, b, args.facts);
  return args.fail(what, " ", a, " and ", b, " do not broadcast (", x, " and ", y, " differ)")
      .hint(equality_hint(x, y));
}

bool surely_less(const InferArgs& args, const Dim& a, const Dim& b) {
  return args.facts.bounds_of(args.facts.canonical(a - b)).high < 0;
}

std::string equality_hint(const Dim& a, const Dim& b) {
  auto usable = [](const Dim& symbol, const Dim& other) {
    std::optional<std::string> name = symbol.as_symbol();
    std::set<std::string> used;
    other.collect_symbols(used);
    return name && used.count(*name) == 0;
  };
  if (usable(a, b)) return cat("assert ", a, " == ", b);
  if (usable(b, a)) return cat("assert ", b, " == ", a);
  return "";
}

}  // namespace weft
