// Attributes against the op table: names, kinds, defaults, order and axes.
// SPDX-License-Identifier: Apache-2.0
#include "tests/ir/infer_cases.h"

namespace weft {
namespace {

using namespace infer_cases;  // NOLINT: a vocabulary for these tests only

// "name = value, ..." after normalisation, or the rendered error.
std::string normal(Op op, const std::vector<std::string>& operands, const Attrs& attrs) {
  std::vector<Type> types;
  for (const std::string& text : operands) types.push_back(type(text));
  Result<Attrs> result = normalise_attrs(op, attrs, types, {});
  if (!result.ok()) return render(result.diagnostics());
  std::string text;
  for (const Attr& attr : *result) {
    text += cat(text.empty() ? "" : ", ", attr.name, " = ", format(attr.value));
  }
  return text;
}

TEST(InferAttrs, DefaultsAndOrder) {
  EXPECT_EQ(normal(Op::cumsum, {"f32[B, T]"}, {{"reverse", true}, {"axis", int64_t{-1}}}),
            "axis = 1, exclusive = false, reverse = true");
  EXPECT_EQ(normal(Op::softmax, {"f32[B, T, 4]"}, {}), "axis = 2");
  EXPECT_EQ(normal(Op::sum, {"f32[B, T, 4]"}, {{"axes", Ints{-1, 0}}}),
            "axes = [0, 2], keepdims = false");
}

TEST(InferAttrs, Conversions) {
  EXPECT_EQ(normal(Op::clamp, {"f32[B]"}, {{"min", int64_t{-1}}, {"max", 2.5}}),
            "min = -1.0, max = 2.5");
  EXPECT_EQ(normal(Op::padding_mask, {"i32[B]"}, {{"size", int64_t{4}}}), "size = 4");
  EXPECT_EQ(normal(Op::reshape, {"f32[4]"}, {{"shape", Ints{2, 2}}}), "shape = [2, 2]");
  EXPECT_EQ(normal(Op::transpose, {"f32[]"}, {{"perm", Dims{}}}), "perm = []");
  EXPECT_EQ(normal(Op::transpose, {"f32[]"}, {{"perm", Numbers{}}}), "perm = []");
  EXPECT_EQ(normal(Op::sum, {"f32[B]"}, {{"axes", Dims{0}}}), "axes = [0], keepdims = false");
  EXPECT_EQ(normal(Op::top_k, {"f32[B]"}, {{"k", Dim(3)}}), "k = 3");
}

TEST(InferAttrs, Names) {
  EXPECT_EQ(normal(Op::softmax, {"f32[B]"}, {{"axs", int64_t{0}}}),
            "error: softmax: unknown attribute 'axs'\nhint: did you mean 'axis'?\n");
  EXPECT_FAILS("add: unknown attribute 'axis'", Op::add, {"f32[B]", "f32[B]"},
               {{"axis", int64_t{0}}});
  EXPECT_FAILS("top_k: attribute 'k' is missing", Op::top_k, {"f32[B]"});
  EXPECT_FAILS("softmax: attribute 'axis' is given twice", Op::softmax, {"f32[B]"},
               {{"axis", int64_t{0}}, {"axis", int64_t{0}}});
}

TEST(InferAttrs, Kinds) {
  EXPECT_FAILS("softmax: attribute 'axis' is 1.5; expected an axis such as 0 or -1", Op::softmax,
               {"f32[B]"}, {{"axis", 1.5}});
  EXPECT_FAILS("dropout: attribute 'rate' is true; expected a real number", Op::dropout,
               {"f32[B]", "u32[2]"}, {{"rate", true}, {"stream", int64_t{0}}});
  EXPECT_FAILS("transpose: attribute 'perm' is [T]; expected a list of integers such as [0, 1]",
               Op::transpose, {"f32[B]"}, {{"perm", Dims{T}}});
  EXPECT_FAILS("cast: attribute 'dtype' is \"f32\"; expected an element type such as f32", Op::cast,
               {"f32[B]"}, {{"dtype", std::string("f32")}});
  EXPECT_FAILS("sum: attribute 'axes' is 0; expected a list of axes such as [0, 1]", Op::sum,
               {"f32[B]"}, {{"axes", int64_t{0}}});
}

TEST(InferAttrs, Choices) {
  Attrs typo = {{"approximate", std::string("tan")}};
  EXPECT_FAILS("gelu: attribute 'approximate' is \"tan\"; expected \"none\" or \"tanh\"", Op::gelu,
               {"f32[B]"}, typo);
  EXPECT_HINT("did you mean 'tanh'?", Op::gelu, {"f32[B]"}, typo);
}

TEST(InferAttrs, Axes) {
  EXPECT_FAILS("softmax: axis 3 is out of range for f32[2, 3] of rank 2", Op::softmax,
               {"f32[2, 3]"}, {{"axis", int64_t{3}}});
  EXPECT_FAILS("softmax: axis -3 is out of range for f32[2, 3] of rank 2", Op::softmax,
               {"f32[2, 3]"}, {{"axis", int64_t{-3}}});
  EXPECT_FAILS("softmax: axis -1 is out of range for f32[] of rank 0", Op::softmax, {"f32[]"});
  EXPECT_FAILS("sum: axis 1 occurs twice in [1, -1]", Op::sum, {"f32[2, 3]"},
               {{"axes", Ints{1, -1}}});
}

}  // namespace
}  // namespace weft
