// Sizes and inputs chosen for a graph fit its bounds, its equalities and the use of each integer.
// SPDX-License-Identifier: Apache-2.0
#include "passes/sample_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/must_parse.h"

namespace weft {
namespace {

using test::must_parse;

DimBinding dims_of(const std::string& text, const DimBinding& given = {}) {
  Module module = must_parse(text);
  Result<DimBinding> dims = sample_dims(module, module.graphs[0], given);
  EXPECT_TRUE(dims.ok()) << render(dims.diagnostics());
  return std::move(dims).value();
}

TEST(SampleDims, ChoosesDifferentOddSizes) {
  DimBinding dims = dims_of("graph @g(%x: f32[B, T]) -> (y) {\n  %y = exp %x\n  return %y\n}\n");
  EXPECT_EQ(dims, (DimBinding{{"B", 3}, {"T", 5}}));
}

TEST(SampleDims, KeepsBoundsEqualitiesAndWhatIsGiven) {
  const char* text = R"(dim B in 1..2
dim T in 100..200
assert mod(H, 4) == 0
assert S == T + 1
graph @g(%x: f32[B, T, H, S, N]) -> (y) {
  %y = exp %x
  return %y
})";
  DimBinding dims = dims_of(text, {{"N", 6}});
  EXPECT_EQ(dims.at("B"), 2);
  EXPECT_GE(dims.at("T"), 100);
  EXPECT_LE(dims.at("T"), 200);
  EXPECT_EQ(dims.at("H") % 4, 0);
  EXPECT_EQ(dims.at("S"), dims.at("T") + 1);
  EXPECT_EQ(dims.at("N"), 6);
}

TEST(SampleDims, KeepsDimsFromBeingNegative) {
  DimBinding dims = dims_of(R"(graph @g(%x: f32[T]) -> (y) {
  %y = slice %x {starts = [6], limits = [T]}
  return %y
})");
  EXPECT_GE(dims.at("T"), 6);
}

TEST(SampleDims, MakesRoomForSlicesAndTopK) {
  DimBinding dims = dims_of(R"(graph @g(%x: f32[S, T]) -> (y, values) {
  %y = slice %x {starts = [0, 0], limits = [S, 9]}
  %t = transpose %x {perm = [1, 0]}
  %values, %places = top_k %t {k = 12}
  return %y, %values
})");
  EXPECT_GE(dims.at("S"), 12);
  EXPECT_GE(dims.at("T"), 9);
}

TEST(SampleDims, SaysWhenThereIsNoChoice) {
  Module module = must_parse(R"(dim B in 3..3
graph @g(%x: f32[B, T]) -> (y) {
  %y = exp %x
  return %y
})");
  Result<DimBinding> dims = sample_dims(module, module.graphs[0], {{"B", 4}});
  ASSERT_FALSE(dims.ok());
  EXPECT_NE(dims.diagnostics()[0].hint.find("--dim"), std::string::npos);
  // Where nothing is left to choose, whoever binds the sizes says what is wrong with them.
  const DimBinding all = {{"B", 4}, {"T", 2}};
  EXPECT_EQ(sample_dims(module, module.graphs[0], all).value(), all);
}

TEST(SampleInputs, IntegersFitTheirUse) {
  Module module = must_parse(R"(graph @g(%rows: f32[9, 4], %i: i32[T], %t: i64[7], %start: i32[],
    %step: i32[], %lengths: i32[B], %free: i32[20], %flag: bool[50], %half: f16[30]) -> (a, b, c, d, e) {
  %places = iota {shape = [6]}
  %moved = add %places, %start
  %a = gather %rows, %moved
  %r = reshape %i {shape = [T, 1]}
  %k = cast %r {dtype = i64}
  %l = add %k, 2
  %b = gather %rows, %l
  %v = slice %rows {starts = [0, 0], limits = [7, 4]}
  %c = cross_entropy %v, %t
  %d = padding_mask %lengths {size = 5}
  %e = neg %free
  return %a, %b, %c, %d, %e
})");
  const Graph& graph = module.graphs[0];
  Result<DimBinding> dims = sample_dims(module, graph, {{"T", 50}});
  ASSERT_TRUE(dims.ok()) << render(dims.diagnostics());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Result<TensorMap> inputs = sample_inputs(module, graph, *dims, seed);
    ASSERT_TRUE(inputs.ok()) << render(inputs.diagnostics());
    auto in_range = [&](const std::string& name, int64_t low, int64_t high) {
      for (int64_t n : inputs->at(name).integers) {
        EXPECT_TRUE(low <= n && n <= high) << name << " has " << n;
      }
    };
    in_range("start", 0, 3);
    in_range("i", -2, 6);
    in_range("t", 0, 3);
    in_range("lengths", 0, 5);
    in_range("free", 0, 7);
    in_range("flag", 0, 1);
    for (double number : inputs->at("half").reals) EXPECT_EQ(round_to(DType::f16, number), number);
    Result<OracleResult> result = run_oracle(module, graph, *inputs, {}, *dims);
    EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  }
}

// What a body asks of its inputs is asked of the operands.
TEST(SampleInputs, FitUsesInsideBodies) {
  Module module = must_parse(R"(graph @g(%rows: f32[3, 4], %i: i32[N], %n: f32[N]) -> (y) {
  %v, %j = region {kind = "map"} (%i = %i) {
    %j = add %i, 2
    return %i, %j
  }
  %y = chunked {symbol = "R", rows = N, chunk = 2, sliced_in = [0, 1, 1], sliced_out = [1]} (%rows = %rows, %j = %j, %n = %n) {
    %last = slice %n {starts = [R - 1], limits = [R]}
    %g = gather %rows, %j
    return %g
  }
  return %y
})");
  const Graph& graph = module.graphs[0];
  Result<DimBinding> dims = sample_dims(module, graph, {});
  ASSERT_TRUE(dims.ok()) << render(dims.diagnostics());
  EXPECT_FALSE(dims->contains("R"));
  EXPECT_GE(dims->at("N"), 1);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Result<TensorMap> inputs = sample_inputs(module, graph, *dims, seed);
    ASSERT_TRUE(inputs.ok()) << render(inputs.diagnostics());
    Result<OracleResult> result = run_oracle(module, graph, *inputs, {}, *dims);
    EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  }
}

TEST(SampleInputs, SameSeedSameNumbers) {
  Module module =
      must_parse("graph @g(%x: f32[B], %z: f32[B]) -> (y) {\n  %y = add %x, %z\n  return %y\n}\n");
  auto numbers = [&](uint64_t seed) {
    Result<TensorMap> inputs = sample_inputs(module, module.graphs[0], {{"B", 4}}, seed);
    return std::pair(inputs->at("x").reals, inputs->at("z").reals);
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
  EXPECT_NE(numbers(1).first, numbers(1).second);
}

TEST(SampleInputs, SaysWhenNoIndexIsInRange) {
  Module module = must_parse(R"(graph @g(%rows: f32[N, 4], %i: i32[3]) -> (y) {
  %y = gather %rows, %i
  return %y
})");
  Result<TensorMap> inputs = sample_inputs(module, module.graphs[0], {{"N", 0}}, 0);
  ASSERT_FALSE(inputs.ok());
  EXPECT_NE(inputs.diagnostics()[0].message.find("input i"), std::string::npos);
}

TEST(SampleInputs, RefusesWhatDoesNotFitInMemory) {
  Module module = must_parse("graph @g(%x: f32[B, B]) -> (y) {\n  %y = exp %x\n  return %y\n}\n");
  EXPECT_FALSE(sample_inputs(module, module.graphs[0], {{"B", 2000000000}}, 0).ok());
}

}  // namespace
}  // namespace weft
