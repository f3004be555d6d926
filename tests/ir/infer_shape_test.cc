// The type rules of indexing, views, shapes, constants and randomness.
// SPDX-License-Identifier: Apache-2.0
#include "tests/ir/infer_cases.h"

namespace weft {
namespace {

using namespace infer_cases;  // NOLINT: a vocabulary for these tests only

TEST(InferIndex, Gather) {
  EXPECT_TYPES("f32[B, T, 8]", Op::gather, {"f32[D, 8]", "i32[B, T]"});
  EXPECT_TYPES("f32[B, T]", Op::gather, {"f32[B, 8]", "i64[T]"}, {{"axis", int64_t{-1}}});
  EXPECT_TYPES("f32[8]", Op::gather, {"f32[D, 8]", "i32[]"});
  EXPECT_FAILS("gather: indices has element type u32; expected i32 or i64", Op::gather,
               {"f32[D, 8]", "u32[B]"});
  EXPECT_FAILS("gather: axis 0 is out of range for f32[] of rank 0", Op::gather,
               {"f32[]", "i32[B]"});
}

TEST(InferIndex, Scatter) {
  EXPECT_TYPES("f32[D, 8]", Op::scatter, {"f32[D, 8]", "i32[B, T]", "f32[B, T, 8]"});
  EXPECT_TYPES("f32[D, 8]", Op::scatter_add, {"f32[D, 8]", "i32[B]", "f32[B, 8]"});
  EXPECT_FAILS("scatter: updates has shape [B, 9]; expected [B, 8], the shape that gather would",
               Op::scatter, {"f32[D, 8]", "i32[B]", "f32[B, 9]"});
  EXPECT_FAILS("scatter: element types differ (f32 and f16)", Op::scatter,
               {"f32[D, 8]", "i32[B]", "f16[B, 8]"});
}

TEST(InferIndex, AlongAxis) {
  Attrs last = {{"axis", int64_t{-1}}};
  EXPECT_TYPES("f32[B, T]", Op::take_along_axis, {"f32[B, 8]", "i32[B, T]"}, last);
  EXPECT_TYPES("f32[B, 8]", Op::add_along_axis, {"f32[B, 8]", "i32[B, T]", "f32[B, T]"}, last);
  EXPECT_FAILS("take_along_axis: sizes of f32[B, 8] and i32[D, T] differ on axis 0 (B and D)",
               Op::take_along_axis, {"f32[B, 8]", "i32[D, T]"}, last);
  EXPECT_FAILS("take_along_axis: ranks of f32[B, 8] and i32[B] differ (2 and 1)",
               Op::take_along_axis, {"f32[B, 8]", "i32[B]"}, last);
  EXPECT_FAILS("add_along_axis: updates has shape [B, 8]; expected [B, T]", Op::add_along_axis,
               {"f32[B, 8]", "i32[B, T]", "f32[B, 8]"}, last);
}

TEST(InferIndex, OneHot) {
  EXPECT_TYPES("f32[B, T, 9]", Op::one_hot, {"i32[B, T]"}, {{"depth", int64_t{9}}});
  EXPECT_TYPES("bool[B, D]", Op::one_hot, {"i64[B]"}, {{"depth", D}, {"dtype", DType::boolean}});
  EXPECT_FAILS("one_hot: size -1 is negative in f32[B, -1]", Op::one_hot, {"i32[B]"},
               {{"depth", int64_t{-1}}});
}

TEST(InferIndex, SlicesAtRunTime) {
  Attrs slice = {{"axis", int64_t{1}}, {"size", int64_t{4}}};
  EXPECT_TYPES("f32[B, 4]", Op::dynamic_slice, {"f32[B, T]", "i32[]"}, slice);
  EXPECT_FAILS("dynamic_slice: start has shape [1]; expected [], a scalar", Op::dynamic_slice,
               {"f32[B, T]", "i32[1]"}, slice);
  EXPECT_FAILS("dynamic_slice: a slice of size 4 does not fit into size 3 of axis 1 of f32[B, 3]",
               Op::dynamic_slice, {"f32[B, 3]", "i32[]"}, slice);
  Attrs update = {{"axis", int64_t{1}}};
  EXPECT_TYPES("f32[B, T]", Op::update_slice, {"f32[B, T]", "f32[B, 1]", "i64[]"}, update);
  EXPECT_FAILS("update_slice: sizes of f32[B, T] and f32[D, 1] differ on axis 0 (B and D)",
               Op::update_slice, {"f32[B, T]", "f32[D, 1]", "i64[]"}, update);
  EXPECT_FAILS("update_slice: a slice of size 9 does not fit into size 8", Op::update_slice,
               {"f32[B, 8]", "f32[B, 9]", "i64[]"}, update);
  EXPECT_FAILS("update_slice: start has element type f32; expected i32 or i64", Op::update_slice,
               {"f32[B, 8]", "f32[B, 1]", "f32[]"}, update);
}

TEST(InferShape, Reshape) {
  EXPECT_TYPES("f32[B*T, 4, 2]", Op::reshape, {"f32[B, T, 8]"}, {{"shape", Dims{B * T, 4, 2}}});
  EXPECT_TYPES("f32[T, 8]", Op::reshape, {"f32[B, 8]"}, {{"shape", Dims{T, 8}}}, {{}, {{B, T}}});
  EXPECT_FAILS("reshape: element counts of [B, 8] and [B, 9] differ (8*B and 9*B)", Op::reshape,
               {"f32[B, 8]"}, {{"shape", Dims{B, 9}}});
  EXPECT_HINT("write 4*B instead of -1", Op::reshape, {"f32[B, 8]"}, {{"shape", Ints{-1, 2}}});
  EXPECT_HINT("write the size out", Op::reshape, {"f32[B, 8]"}, {{"shape", Ints{-1, 3}}});
  EXPECT_HINT("write the size out", Op::reshape, {"f32[0]"}, {{"shape", Ints{-1, 0}}});
}

TEST(InferShape, Transpose) {
  EXPECT_TYPES("f32[T, B, 4]", Op::transpose, {"f32[B, T, 4]"}, {{"perm", Ints{1, 0, 2}}});
  EXPECT_TYPES("f32[]", Op::transpose, {"f32[]"}, {{"perm", Ints{}}});
  EXPECT_FAILS("transpose: perm has 1 entry; expected one per axis of f32[B, T], 2", Op::transpose,
               {"f32[B, T]"}, {{"perm", Ints{0}}});
  for (const Ints& perm : {Ints{0, 0}, Ints{0, 2}, Ints{0, -1}}) {
    EXPECT_FAILS("transpose: perm is " + format(perm) + "; expected each of the axes 0 to 1 once",
                 Op::transpose, {"f32[B, T]"}, {{"perm", perm}});
  }
}

TEST(InferShape, BroadcastTo) {
  EXPECT_TYPES("f32[B, T, 4]", Op::broadcast, {"f32[1, 4]"}, {{"shape", Dims{B, T, 4}}});
  EXPECT_FAILS("broadcast: [T, 4] does not stretch to [B, 4] (T and B differ)", Op::broadcast,
               {"f32[T, 4]"}, {{"shape", Dims{B, 4}}});
  EXPECT_FAILS("broadcast: f32[T, 4] has more axes than [4] (2 and 1)", Op::broadcast,
               {"f32[T, 4]"}, {{"shape", Dims{4}}});
  EXPECT_FAILS("broadcast: size -1 is negative", Op::broadcast, {"f32[1]"}, {{"shape", Ints{-1}}});
}

Attrs slice(Dim start, Dim limit, Ints strides = {}) {
  return {{"starts", Dims{start}}, {"limits", Dims{limit}}, {"strides", strides}};
}

TEST(InferShape, Slice) {
  EXPECT_TYPES("f32[T - 1]", Op::slice, {"f32[T]"}, slice(1, T));
  EXPECT_TYPES("f32[(T + 1)/2]", Op::slice, {"f32[T]"}, slice(0, T, {2}));
  EXPECT_TYPES("f32[3]", Op::slice, {"f32[8]"}, slice(1, 8, {3}));
  EXPECT_TYPES("f32[0]", Op::slice, {"f32[8]"}, slice(8, 8));
  EXPECT_TYPES("f32[5]", Op::slice, {"f32[T]"}, slice(0, 5));
  EXPECT_FAILS("slice: start -1 is negative on axis 0", Op::slice, {"f32[8]"}, slice(-1, 4));
  EXPECT_FAILS("slice: start 5 lies beyond limit 4 on axis 0", Op::slice, {"f32[8]"}, slice(5, 4));
  EXPECT_FAILS("slice: limit T + 1 exceeds size T of axis 0", Op::slice, {"f32[T]"},
               slice(0, T + 1));
  EXPECT_FAILS("slice: limit 5 exceeds size T of axis 0", Op::slice, {"f32[T]"}, slice(0, 5),
               {{{"T", {1, 4}}}, {}});
  EXPECT_FAILS("slice: stride 0 on axis 0 is not in 1 to 2147483647", Op::slice, {"f32[8]"},
               slice(0, 4, {0}));
  EXPECT_FAILS("slice: starts has 1 entry; expected one per axis of f32[B, T], 2", Op::slice,
               {"f32[B, T]"}, slice(0, 4));
}

TEST(InferShape, Concat) {
  Attrs last = {{"axis", int64_t{-1}}};
  EXPECT_TYPES("f32[B, D + T + 4]", Op::concat, {"f32[B, T]", "f32[B, D]", "f32[B, 4]"}, last);
  EXPECT_FAILS("concat: sizes of f32[B, T] and f32[D, T] differ on axis 0 (B and D)", Op::concat,
               {"f32[B, T]", "f32[D, T]"}, last);
  EXPECT_FAILS("concat: element types differ (f32 and i32)", Op::concat, {"f32[4]", "i32[4]"},
               last);
  EXPECT_HINT("cast inputs[1] with {dtype = f32}", Op::concat, {"f32[4]", "i32[4]"}, last);
}

Attrs pad(Dim low, Dim high, int64_t interior, double value) {
  return {{"low", Dims{low}}, {"high", Dims{high}}, {"interior", Ints{interior}}, {"value", value}};
}

TEST(InferShape, Pad) {
  EXPECT_TYPES("f32[T + 3]", Op::pad, {"f32[T]"}, pad(1, 2, 0, 0.5));
  EXPECT_TYPES("f32[11]", Op::pad, {"f32[4]"}, pad(1, 0, 2, 0));
  EXPECT_TYPES("f32[3]", Op::pad, {"f32[0]"}, pad(1, 2, 5, 0));
  EXPECT_TYPES("f32[T + max(0, T - 1)]", Op::pad, {"f32[T]"}, pad(0, 0, 1, 0));
  EXPECT_TYPES("i8[T + 1]", Op::pad, {"i8[T]"}, pad(1, 0, 0, -128));
  EXPECT_FAILS("pad: padding -1 is negative on axis 0", Op::pad, {"f32[4]"}, pad(-1, 0, 0, 0));
  EXPECT_FAILS("pad: padding -2 is negative on axis 0", Op::pad, {"f32[4]"}, pad(0, 0, -2, 0));
  EXPECT_FAILS("pad: interior 4294967296 on axis 0 is more than 2147483647", Op::pad, {"f32[T]"},
               pad(0, 0, int64_t{1} << 32, 0));
  EXPECT_FAILS("pad: value is 0.5; expected a number of type i32", Op::pad, {"i32[4]"},
               pad(0, 0, 0, 0.5));
  EXPECT_FAILS("pad: value is 128.0; expected a number of type i8", Op::pad, {"i8[4]"},
               pad(0, 0, 0, 128));
  EXPECT_FAILS("pad: value is 9223372036854775808.0", Op::pad, {"i64[4]"}, pad(0, 0, 0, 0x1p63));
  EXPECT_FAILS("pad: low has 1 entry", Op::pad, {"f32[2, 2]"}, pad(0, 0, 0, 0));
}

TEST(InferShape, PadUndoesStridedSlice) {
  // What the gradient of a strided slice relies on: the sizes cancel symbolically.
  Dim kept = sliced_size(1, T, 3);
  Dim high = T - padded_size(kept, 1, 0, 2);
  EXPECT_EQ(padded_size(kept, 1, high, 2), T);
}

Attrs windows(Ints size, Ints stride) { return {{"size", size}, {"stride", stride}}; }

TEST(InferShape, Patches) {
  EXPECT_TYPES("f32[B, 14, 14, 768]", Op::patches, {"f32[B, 224, 224, 3]"},
               windows({16, 16}, {16, 16}));
  EXPECT_TYPES("f32[B, T - 2, (D - 3)/2 + 1, 9]", Op::patches, {"f32[B, T, D, 1]"},
               windows({3, 3}, {1, 2}));
  EXPECT_FAILS("patches: in has type f32[B, T, D] of rank 3; expected rank 4", Op::patches,
               {"f32[B, T, D]"}, windows({3, 3}, {1, 1}));
  EXPECT_FAILS("patches: stride is [1, 0]; expected height and width, each in 1 to", Op::patches,
               {"f32[B, 8, 8, 1]"}, windows({3, 3}, {1, 0}));
  EXPECT_FAILS("patches: size is [3]; expected height and width", Op::patches, {"f32[B, 8, 8, 1]"},
               windows({3}, {1, 1}));
  EXPECT_FAILS("patches: a window of 9 does not fit into width 8", Op::patches, {"f32[B, 8, 8, 1]"},
               windows({1, 9}, {1, 1}));
}

TEST(InferShape, FoldPatches) {
  Attrs fold = windows({2, 2}, {2, 2});
  fold.set("height", int64_t{8});
  fold.set("width", int64_t{6});
  EXPECT_TYPES("f32[B, 8, 6, 3]", Op::fold_patches, {"f32[B, 4, 3, 12]"}, fold);
  EXPECT_FAILS(
      "fold_patches: in has shape [B, 4, 4, 12]; expected [B, 4, 3, 12], the windows of a "
      "8 by 6 image",
      Op::fold_patches, {"f32[B, 4, 4, 12]"}, fold);
  EXPECT_FAILS("fold_patches: last axis 10 of f32[B, 4, 3, 10] is not a multiple of the window's 4",
               Op::fold_patches, {"f32[B, 4, 3, 10]"}, fold);
  fold.set("height", T);
  EXPECT_TYPES("f32[B, T, 6, 1]", Op::fold_patches, {"f32[B, H, 3, 4]"}, fold,
               {{}, {{Dim::symbol("H"), window_count(T, 2, 2)}}});
}

Attrs constant(Numbers value, DType dtype, Dims shape) {
  return {{"value", value}, {"dtype", dtype}, {"shape", shape}};
}

TEST(InferMake, Constant) {
  Numbers real{std::vector<double>{0.5}};
  Numbers two{Ints{1, 2}};
  EXPECT_TYPES("f32[B, 4]", Op::constant, {}, constant(real, DType::f32, {B, 4}));
  EXPECT_TYPES("f16[2]", Op::constant, {}, constant(two, DType::f16, {2}));
  EXPECT_TYPES("i32[0]", Op::constant, {}, constant({Ints{}}, DType::i32, {0}));
  EXPECT_TYPES("f32[]", Op::constant, {}, {{"value", int64_t{3}}, {"dtype", DType::f32}});
  EXPECT_FAILS("constant: 2 numbers do not fill [3]; expected 1 or 3", Op::constant, {},
               constant(two, DType::i32, {3}));
  EXPECT_FAILS("constant: 2 numbers do not fill [B]; expected 1 or B", Op::constant, {},
               constant(two, DType::i32, {B}));
  EXPECT_FAILS("constant: 65 numbers are more than the limit of 64", Op::constant, {},
               constant({Ints(65, 1)}, DType::i32, {65}));
  EXPECT_FAILS("constant: 0.5 is not a number of type i32", Op::constant, {},
               constant(real, DType::i32, {}));
  EXPECT_FAILS("constant: 2 is out of range for bool; expected 0 to 1", Op::constant, {},
               constant(two, DType::boolean, {2}));
  EXPECT_FAILS("constant: -129 is out of range for i8; expected -128 to 127", Op::constant, {},
               constant({Ints{-129}}, DType::i8, {}));
}

TEST(InferMake, Iota) {
  EXPECT_TYPES("i32[B, T]", Op::iota, {}, {{"shape", Dims{B, T}}, {"axis", int64_t{1}}});
  EXPECT_FAILS("iota: axis 0 is out of range for shape [] of rank 0", Op::iota, {},
               {{"shape", Dims{}}});
  EXPECT_FAILS("iota: axis -1 is out of range for shape [B] of rank 1", Op::iota, {},
               {{"shape", Dims{B}}, {"axis", int64_t{-1}}});
  EXPECT_FAILS("iota: dtype is bool; expected f64", Op::iota, {},
               {{"shape", Dims{B}}, {"dtype", DType::boolean}});
}

TEST(InferMake, Masks) {
  EXPECT_TYPES("bool[T, D]", Op::causal_mask, {}, {{"rows", T}, {"cols", D}});
  Attrs window = {{"rows", T}, {"cols", T}, {"before", int64_t{3}}, {"after", int64_t{0}}};
  EXPECT_TYPES("bool[T, T]", Op::window_mask, {}, window);
  window.set("before", int64_t{-3});
  EXPECT_FAILS("window_mask: before is -3; expected before >= 0", Op::window_mask, {}, window);
  EXPECT_TYPES("bool[B, T]", Op::padding_mask, {"i32[B]"}, {{"size", T}});
}

TEST(InferMake, Randomness) {
  Attrs bits = {{"shape", Dims{B, T}}, {"stream", int64_t{1}}};
  EXPECT_TYPES("u32[B, T]", Op::random_bits, {"u32[2]"}, bits);
  EXPECT_FAILS("random_bits: rng has shape [3]; expected [2], a seed and a step", Op::random_bits,
               {"u32[3]"}, bits);
  Attrs drop = {{"rate", 0.1}, {"stream", int64_t{1}}};
  EXPECT_TYPES("f32[B]", Op::dropout, {"f32[B]", "u32[2]"}, drop);
  EXPECT_FAILS("dropout: rng has element type i32; expected u32", Op::dropout, {"f32[B]", "i32[2]"},
               drop);
  drop.set("rate", 1.0);
  EXPECT_FAILS("dropout: rate is 1.0; expected 0 <= rate < 1", Op::dropout, {"f32[B]", "u32[2]"},
               drop);
  drop.set("rate", 0.1);
  drop.set("stream", int64_t{1} << 32);
  EXPECT_FAILS("dropout: stream is 4294967296; expected 0 <= stream < 2^32", Op::dropout,
               {"f32[B]", "u32[2]"}, drop);
}

}  // namespace
}  // namespace weft
