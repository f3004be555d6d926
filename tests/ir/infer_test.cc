// The type rules of arithmetic, products, reductions, losses and optimizers: for each at least one
// symbolic case that holds, and the errors it promises.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/ir/infer_cases.h"

namespace weft {
namespace {

using namespace infer_cases;  // NOLINT: a vocabulary for these tests only

TEST(Infer, OperandCount) {
  EXPECT_FAILS("add: expected 2 operands (lhs, rhs), got 1", Op::add, {"f32[4]"});
  EXPECT_FAILS("exp: expected 1 operand (in), got 2", Op::exp, {"f32[4]", "f32[4]"});
  EXPECT_FAILS("concat: expected at least 1 operand (inputs...), got 0", Op::concat, {},
               {{"axis", int64_t{0}}});
  EXPECT_FAILS("iota: expected no operands, got 1", Op::iota, {"f32[4]"}, {{"shape", Dims{B}}});
  EXPECT_FAILS("softmax: expected 1 operand (in), got 0", Op::softmax, {});
}

TEST(Infer, ElementTypes) {
  EXPECT_FAILS("add: element type bool is not supported; expected f64, f32, f16, bf16", Op::add,
               {"bool[4]", "bool[4]"});
  EXPECT_FAILS("div: element type i32 is not supported; expected f64, f32, f16 or bf16", Op::div,
               {"i32[4]", "i32[4]"});
  EXPECT_FAILS("select: element type f32 is not supported; expected bool", Op::select,
               {"f32[4]", "f32[4]", "f32[4]"});
}

TEST(Infer, SizesAndRank) {
  EXPECT_FAILS("reshape: size -3 is negative in f32[-3, -4]", Op::reshape, {"f32[12]"},
               {{"shape", Ints{-3, -4}}});
  int64_t huge = int64_t{1} << 40;
  EXPECT_FAILS("iota: size is too large", Op::iota, {}, {{"shape", Ints{huge, huge}}});
  EXPECT_FAILS("one_hot: 9 axes are more than the limit of 8", Op::one_hot,
               {"i32[1, 1, 1, 1, 1, 1, 1, 1]"}, {{"depth", T}});
  EXPECT_FAILS("iota: attribute 'shape' has 9 entries, more than the limit of 8 axes", Op::iota, {},
               {{"shape", Ints(9, 1)}});
}

TEST(Infer, Broadcast) {
  EXPECT_TYPES("f32[B, T, 4]", Op::add, {"f32[B, T, 4]", "f32[4]"});
  EXPECT_TYPES("f32[B, T]", Op::mul, {"f32[B, 1]", "f32[1, T]"});
  EXPECT_TYPES("bool[B, T]", Op::lt, {"i32[T]", "i32[B, 1]"});
  EXPECT_FAILS("add: shapes [B, 3] and [T, 3] do not broadcast (B and T differ)", Op::add,
               {"f32[B, 3]", "f32[T, 3]"});
  EXPECT_HINT("assert B == T", Op::add, {"f32[B, 3]", "f32[T, 3]"});
  EXPECT_FAILS("add: shapes [2, 3] and [4] do not broadcast (3 and 4 differ)", Op::add,
               {"f32[2, 3]", "f32[4]"});
  EXPECT_TYPES("f32[B, 3]", Op::add, {"f32[B, 3]", "f32[T, 3]"}, {}, {{}, {{B, T}}});
  EXPECT_FAILS("add: element types differ (f32 and bf16)", Op::add, {"f32[4]", "bf16[4]"});
  EXPECT_HINT("cast rhs with {dtype = f32}", Op::add, {"f32[4]", "bf16[4]"});
}

TEST(Infer, BroadcastShapes) {
  EXPECT_EQ(broadcast_shapes({B, Dim(1)}, {T}, {}), (Shape{B, T}));
  EXPECT_EQ(broadcast_shapes({}, {T}, {}), Shape{T});
  EXPECT_EQ(broadcast_shapes({B}, {T}, {}), std::nullopt);
}

TEST(Infer, Elementwise) {
  EXPECT_TYPES("f32[B]", Op::exp, {"f32[B]"});
  EXPECT_TYPES("bool[B]", Op::is_finite, {"f16[B]"});
  EXPECT_TYPES("bf16[B]", Op::cast, {"bool[B]"}, {{"dtype", DType::bf16}});
  EXPECT_TYPES("f32[B]", Op::clamp, {"f32[B]"}, {{"min", int64_t{0}}, {"max", 6.0}});
  EXPECT_FAILS("clamp: min is 2.0; expected min <= max, with max = 1.0", Op::clamp, {"f32[B]"},
               {{"min", 2.0}, {"max", 1.0}});
  EXPECT_FAILS("clamp: min is nan", Op::clamp, {"f32[B]"}, {{"min", kNan}, {"max", 1.0}});
}

TEST(Infer, Select) {
  EXPECT_TYPES("f32[B, T]", Op::select, {"bool[T]", "f32[B, 1]", "f32[]"});
  EXPECT_FAILS("select: element types differ (f32 and i32)", Op::select,
               {"bool[T]", "f32[T]", "i32[T]"});
  EXPECT_FAILS("select: shapes of the condition and the sides [2] and [3] do not broadcast",
               Op::select, {"bool[2]", "f32[3]", "f32[]"});
}

TEST(Infer, Matmul) {
  EXPECT_TYPES("f32[B, T, 8]", Op::matmul, {"f32[B, T, D]", "f32[D, 8]"});
  EXPECT_TYPES("f32[B, 2, T, 8]", Op::matmul, {"f32[B, 1, T, D]", "f32[2, D, 8]"});
  EXPECT_FAILS("matmul: inner dimensions differ (64 and 512)", Op::matmul,
               {"f32[B, 64]", "f32[512, 64]"});
  EXPECT_HINT("transpose the right operand", Op::matmul, {"f32[B, 64]", "f32[512, 64]"});
  EXPECT_HINT("assert D == T", Op::matmul, {"f32[B, D]", "f32[T, 8]"});
  EXPECT_FAILS("matmul: batch axes [2] and [3] do not broadcast (2 and 3 differ)", Op::matmul,
               {"f32[2, 4, 4]", "f32[3, 4, 4]"});
  EXPECT_FAILS("matmul: rhs has type f32[4]; expected at least 2 axes", Op::matmul,
               {"f32[4, 4]", "f32[4]"});
}

TEST(Infer, Reduce) {
  EXPECT_TYPES("f32[T]", Op::sum, {"f32[B, T, 4]"}, {{"axes", Ints{-1, 0}}});
  EXPECT_TYPES("f32[B, 1]", Op::mean, {"f32[B, T]"}, {{"axes", Ints{1}}, {"keepdims", true}});
  EXPECT_TYPES("f32[B]", Op::logsumexp, {"f32[B, T]"});
  EXPECT_TYPES("i32[B]", Op::argmax, {"f32[B, T]"}, {{"axis", int64_t{1}}});
  EXPECT_FAILS("argmax: axis 1 of f32[B, 0] is empty", Op::argmax, {"f32[B, 0]"},
               {{"axis", int64_t{1}}});
  EXPECT_FAILS("argmax: size 4294967296 of the axis is too large for i32 indices", Op::argmax,
               {"f32[4294967296]"}, {{"axis", int64_t{0}}});
}

TEST(Infer, TopK) {
  EXPECT_TYPES("f32[B, 5]; i32[B, 5]", Op::top_k, {"f32[B, T]"}, {{"k", int64_t{5}}});
  EXPECT_FAILS("top_k: k is 5; expected 0 <= k <= 4", Op::top_k, {"f32[B, 4]"},
               {{"k", int64_t{5}}});
  EXPECT_FAILS("top_k: k is -1", Op::top_k, {"f32[B, T]"}, {{"k", int64_t{-1}}});
  EXPECT_FAILS("top_k: k is 9; expected 0 <= k <= T", Op::top_k, {"f32[T]"}, {{"k", int64_t{9}}},
               {{{"T", {1, 8}}}, {}});
  EXPECT_FAILS("top_k: in has type f32[]; expected at least 1 axis", Op::top_k, {"f32[]"},
               {{"k", int64_t{0}}});
}

TEST(Infer, Norms) {
  EXPECT_TYPES("f32[]", Op::global_norm, {"f32[B]", "f32[T, 4]"});
  EXPECT_FAILS("global_norm: element types differ (f32 and f16)", Op::global_norm,
               {"f32[B]", "f16[B]"});
  EXPECT_TYPES("f32[B, D]", Op::layer_norm, {"f32[B, D]", "f32[D]", "f32[D]"});
  EXPECT_FAILS("layer_norm: bias has shape [T]; expected [D], the size of the last axis",
               Op::layer_norm, {"f32[B, D]", "f32[D]", "f32[T]"});
  EXPECT_HINT("assert T == D", Op::layer_norm, {"f32[B, D]", "f32[D]", "f32[T]"});
  EXPECT_FAILS("layer_norm: eps is 0.0; expected a finite eps > 0", Op::layer_norm,
               {"f32[D]", "f32[D]", "f32[D]"}, {{"eps", int64_t{0}}});
  EXPECT_TYPES("f32[B, D]", Op::rms_norm, {"f32[B, D]", "f32[D]"});
  EXPECT_FAILS("rms_norm: gain has shape [B, D]; expected [D]", Op::rms_norm,
               {"f32[B, D]", "f32[B, D]"});
}

TEST(Infer, Losses) {
  EXPECT_TYPES("f32[B, T]", Op::cross_entropy, {"f32[B, T, 9]", "i64[B, T]"});
  EXPECT_TYPES("f32[B]", Op::focal, {"f32[B, 9]", "i32[B]"});
  EXPECT_FAILS("cross_entropy: targets has shape [B, T]; expected [B]", Op::cross_entropy,
               {"f32[B, 9]", "i32[B, T]"});
  EXPECT_FAILS("cross_entropy: targets has element type f32; expected i32 or i64",
               Op::cross_entropy, {"f32[B, 9]", "f32[B]"});
  EXPECT_FAILS("cross_entropy: label_smoothing is 1.5; expected 0 <= label_smoothing <= 1",
               Op::cross_entropy, {"f32[B, 9]", "i32[B]"}, {{"label_smoothing", 1.5}});
  EXPECT_FAILS("cross_entropy: ignore_index is 4294967296; expected a number of type i32",
               Op::cross_entropy, {"f32[B, 9]", "i32[B]"}, {{"ignore_index", int64_t{1} << 32}});
  EXPECT_FAILS("focal: gamma is -1.0; expected a finite gamma >= 0", Op::focal,
               {"f32[B, 9]", "i32[B]"}, {{"gamma", -1.0}});
  EXPECT_TYPES("f32[]", Op::mse, {"f32[B, T]", "f32[B, T]"});
  EXPECT_FAILS("mse: sizes of f32[B, T] and f32[B, 4] differ on axis 1 (T and 4)", Op::mse,
               {"f32[B, T]", "f32[B, 4]"});
}

TEST(Infer, Optimizers) {
  EXPECT_TYPES("f32[D, 4]; f32[D, 4]", Op::sgd, {"f32[D, 4]", "f32[D, 4]", "f32[D, 4]", "f32[]"});
  EXPECT_FAILS("sgd: velocity has shape [D]; expected [D, 4], the shape of param", Op::sgd,
               {"f32[D, 4]", "f32[D, 4]", "f32[D]", "f32[]"});
  EXPECT_FAILS("sgd: lr has shape [1]; expected [], a scalar", Op::sgd,
               {"f32[D]", "f32[D]", "f32[D]", "f32[1]"});
  EXPECT_FAILS("sgd: momentum is 1.0; expected 0 <= momentum < 1", Op::sgd,
               {"f32[D]", "f32[D]", "f32[D]", "f32[]"}, {{"momentum", 1.0}});
  std::vector<std::string> good = {"f32[D]", "f32[D]", "f32[D]", "f32[D]", "f32[]", "i32[]"};
  EXPECT_TYPES("f32[D]; f32[D]; f32[D]", Op::adam, good);
  EXPECT_TYPES("f32[D]; f32[D]; f32[D]", Op::adamw, good);
  EXPECT_FAILS("adam: beta2 is nan; expected 0 <= beta2 < 1", Op::adam, good, {{"beta2", kNan}});
  EXPECT_FAILS("adamw: weight_decay is -0.1", Op::adamw, good, {{"weight_decay", -0.1}});
  good[5] = "i64[]";
  EXPECT_FAILS("adam: step has element type i64; expected i32", Op::adam, good);
}

TEST(Infer, NotesPointAtTheOperand) {
  std::vector<Type> operands = {type("f32[B, 64]"), type("f32[512, 64]")};
  auto source = std::make_shared<const SourceText>(SourceText{"a.weft", "%w: f32[512, 64]"});
  std::vector<Loc> locs = {{}, {source, 1, 1, 2}};
  Attrs attrs;
  auto types = infer_types({Op::matmul, operands, attrs, {}, {}, locs});
  ASSERT_FALSE(types.ok());
  EXPECT_THAT(render(types.diagnostics()),
              testing::HasSubstr("a.weft:1:1: note: right operand defined here"));
}

}  // namespace
}  // namespace weft
