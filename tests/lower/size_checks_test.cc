// What is asked of sizes when they are bound.
// SPDX-License-Identifier: Apache-2.0
#include "passes/size_checks.h"

#include <gtest/gtest.h>

#include "passes/pass.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_tiles.h"

namespace weft {
namespace {

std::string checks_of(const std::string& text, bool fused) {
  Module module = test::must_parse(text);
  if (fused) {
    EXPECT_TRUE(run_pipeline(module, {}).ok());
  }
  std::string result;
  for (const SizeCheck& check : size_checks(module.graphs.at(0), module.dims)) {
    result += check.small.str() + " <= " + check.large.str() + ": " + check.message + "\n";
  }
  return result;
}

TEST(SizeChecks, SlicesStayWithinTheirAxis) {
  const std::string text =
      "graph @f(%x: f32[T, 8]) -> (y: f32[4, 8]) {\n"
      "  %s = slice %x {starts = [0, 0], limits = [4, 8]}\n  %y = exp %s\n  return %y\n}";
  EXPECT_EQ(checks_of(text, false), "4 <= T: slice: limit 4 exceeds size T of axis 0\n");
  EXPECT_EQ(checks_of(text, true), "4 <= T: slice: limit 4 exceeds size T of axis 0\n");
  EXPECT_EQ(checks_of("dim T in 4..9\n" + text, false), "");
}

TEST(SizeChecks, SizesAreNotNegative) {
  EXPECT_EQ(checks_of("graph @f(%x: f32[T]) -> (y: i32[T - 2]) {\n"
                      "  %y = iota {shape = [T - 2]}\n  return %y\n}",
                      false),
            "0 <= T - 2: iota: size T - 2 of axis 0 is negative\n");
}

TEST(SizeChecks, SomethingToChooseFrom) {
  EXPECT_EQ(checks_of("graph @f(%x: f32[B, T]) -> (y: i32[B], v: f32[B, 3]) {\n"
                      "  %y = argmax %x {axis = 1}\n  %v, %i = top_k %x {k = 3}\n"
                      "  return %y, %v\n}",
                      false),
            "1 <= T: argmax: axis 1 of [B, T] is empty\n"
            "3 <= T: top_k: k is 3, but the last axis of [B, T] has T\n");
}

TEST(SizeChecks, AreMadeBeforeAnythingRuns) {
  Module module = test::must_parse(
      "graph @f(%x: f32[T]) -> (y: f32[4]) {\n"
      "  %s = slice %x {starts = [0], limits = [4]}\n  %y = exp %s\n  return %y\n}");
  ASSERT_TRUE(run_pipeline(module, {}).ok());
  const TensorMap inputs = {{"x", Tensor::zeros(DType::f32, {3})}};
  Result<OracleResult> result = run_tiles(module, module.graphs[0], inputs);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(render(result.diagnostics()).find("limit 4 exceeds size T"), std::string::npos);
}

}  // namespace
}  // namespace weft
