// Ops with a body on the oracle: the body evaluated, at once or chunk by chunk.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "ir/oracle/oracle.h"
#include "ir/text/text.h"

namespace weft {
namespace {

Module must_parse(const std::string& text) {
  Result<Module> module = parse("test.weft", text);
  EXPECT_TRUE(module.ok()) << render(module.diagnostics());
  return module.ok() ? *module : Module();
}

Tensor counting(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::zeros(DType::f64, std::move(shape));
  std::iota(tensor.reals.begin(), tensor.reals.end(), 1.0);
  return tensor;
}

constexpr char kChunked[] = R"(
graph @f(%x: f64[N, 2], %w: f64[2]) -> (p, s, n) {
  %p, %s, %n = chunked {symbol = "R", rows = N, chunk = 3, sliced_in = [1, 0], sliced_out = [1, 0, 0]} (%x = %x, %w = %w) {
    %p = mul %x, %w
    %s = sum %p {axes = [0]}
    %ones = constant {value = 1, dtype = i32, shape = [R]}
    %n = sum %ones {axes = [0]}
    return %p, %s, %n
  }
  return %p, %s, %n
})";

TensorMap run_chunked(int64_t rows) {
  Module module = must_parse(kChunked);
  TensorMap inputs = {{"x", counting({rows, 2})}, {"w", counting({2})}};
  Result<OracleResult> result = run_oracle(module, module.graphs[0], inputs, {});
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  return result.ok() ? result->outputs : TensorMap();
}

TEST(OracleChunked, PutsRowsTogetherAndAddsTheRest) {
  for (int64_t rows : {1, 2, 3, 4, 6, 7, 10}) {
    SCOPED_TRACE(rows);
    TensorMap outputs = run_chunked(rows);
    ASSERT_EQ(outputs["p"].shape, (std::vector<int64_t>{rows, 2}));
    double sums[] = {0, 0};
    for (int64_t i = 0; i < 2 * rows; ++i) {
      double product = static_cast<double>(i + 1) * static_cast<double>(i % 2 + 1);
      EXPECT_EQ(outputs["p"].at(i), product);
      sums[i % 2] += product;
    }
    EXPECT_EQ(outputs["s"].at(0), sums[0]);
    EXPECT_EQ(outputs["s"].at(1), sums[1]);
    EXPECT_EQ(outputs["n"].at(0), static_cast<double>(rows));
  }
}

TEST(OracleChunked, NoRowsGiveZeros) {
  TensorMap outputs = run_chunked(0);
  EXPECT_EQ(outputs["p"].shape, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(outputs["s"].reals, (std::vector<double>{0, 0}));
  EXPECT_EQ(outputs["n"].integers, (std::vector<int64_t>{0}));
}

TEST(OracleChunked, NestedChunksHaveSymbolsOfTheirOwn) {
  Module module = must_parse(R"(
graph @f(%x: f64[N, 2]) -> (s) {
  %s = chunked {symbol = "R", rows = N, chunk = 4, sliced_in = [1], sliced_out = [0]} (%x = %x) {
    %s = chunked {symbol = "Q", rows = R, chunk = 3, sliced_in = [1], sliced_out = [0]} (%x = %x) {
      %s = region {kind = "map"} (%x = %x) {
        %s = sum %x {axes = [0, 1]}
        return %s
      }
      return %s
    }
    return %s
  }
  return %s
})");
  Result<OracleResult> result = run_oracle(module, module.graphs[0], {{"x", counting({5, 2})}}, {});
  ASSERT_TRUE(result.ok()) << render(result.diagnostics());
  EXPECT_EQ(result->outputs["s"].at(0), 55);
}

TEST(OracleChunked, TooManyChunksAreRefused) {
  Module module = must_parse(R"(
graph @f(%x: f64[N, 0]) -> (y) {
  %y = chunked {symbol = "R", rows = N, chunk = 1, sliced_in = [1], sliced_out = [1]} (%x = %x) {
    return %x
  }
  return %y
})");
  Result<OracleResult> result =
      run_oracle(module, module.graphs[0], {{"x", counting({1 << 30, 0})}}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(render(result.diagnostics()).find("1073741824 rows in chunks of 1"), std::string::npos);
}

TEST(OracleRegion, GivesItsBodysResults) {
  Module module = must_parse(R"(
graph @f(%x: f64[N]) -> (a, b) {
  %a, %b = region {kind = "rows"} (%x = %x, %c = f64(0.5)) {
    %a = mul %x, %c
    %b = sum %a {axes = [0]}
    return %a, %b
  }
  return %a, %b
})");
  Result<OracleResult> result = run_oracle(module, module.graphs[0], {{"x", counting({3})}}, {});
  ASSERT_TRUE(result.ok()) << render(result.diagnostics());
  EXPECT_EQ(result->outputs["a"].reals, (std::vector<double>{0.5, 1, 1.5}));
  EXPECT_EQ(result->outputs["b"].at(0), 3);
}

TEST(OracleRegion, SaysWhereInTheBodyItFailed) {
  Module module = must_parse(R"(
graph @f(%x: f64[3], %i: i32[1]) -> (y) {
  %y = region {kind = "map"} (%x = %x, %i = %i) {
    %g = gather %x, %i
    return %g
  }
  return %y
})");
  Tensor index = Tensor::zeros(DType::i32, {1});
  index.integers[0] = 3;
  Result<OracleResult> result =
      run_oracle(module, module.graphs[0], {{"x", counting({3})}, {"i", index}}, {});
  ASSERT_FALSE(result.ok());
  std::string text = render(result.diagnostics());
  EXPECT_NE(text.find("while computing %g"), std::string::npos) << text;
  EXPECT_NE(text.find("while computing %y"), std::string::npos) << text;
}

// What a body needs lives beside everything outside of it.
TEST(OracleRegion, BodiesKeepTheByteLimit) {
  Module module = must_parse(R"(
graph @f(%x: f64[N]) -> (y) {
  %y = region {kind = "map"} (%x = %x) {
    %big = broadcast %x {shape = [1000000, 1000000, N]}
    %y = sum %big {axes = [0, 1]}
    return %y
  }
  return %y
})");
  Result<OracleResult> result = run_oracle(module, module.graphs[0], {{"x", counting({1})}}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(render(result.diagnostics()).find("limit"), std::string::npos);
}

}  // namespace
}  // namespace weft
