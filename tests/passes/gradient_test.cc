// Gradient rules that are easy to get wrong, against central differences and by hand.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tests/passes/oracle_support.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Gradient, ProdWithNoOneAndTwoZeros) {
  std::string text = R"(graph @f(%x: f64[3, 4], %w: f64[3]) -> (loss) {
  %p = prod %x {axes = [1]}
  %s = mul %p, %w
  %loss = sum %s {axes = [0]}
  return %loss
})";
  Tensor x = reals({3, 4}, {1, 2, -3, 4, 1, 0, 5, 2, 0, 3, 0, 4});
  TensorMap outputs = check_gradients(text, {{"x", x}, {"w", reals({3}, {1, 1, 1})}});
  expect_near(outputs["grad.x"], reals({3, 4}, {-24, -12, 8, -6, 0, 10, 0, 0, 0, 0, 0, 0}), 0, "x");
}

TEST(Gradient, OnlyTheLastOfEqualScatterIndicesHasAGradient) {
  std::string text =
      R"(graph @f(%x: f64[2, 4], %i: i32[3], %u: f64[2, 3], %w: f64[2, 4]) -> (loss) {
  %y = scatter %x, %i, %u {axis = 1}
  %s = mul %y, %w
  %loss = sum %s {axes = [0, 1]}
  return %loss
})";
  Tensor w = reals({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  TensorMap outputs = check_gradients(text, {{"x", spread_reals({2, 4})},
                                             {"i", integers({3}, {2, 0, 2})},
                                             {"u", spread_reals({2, 3}, 2)},
                                             {"w", w}});
  expect_near(outputs["grad.u"], reals({2, 3}, {0, 1, 3, 0, 5, 7}), 0, "u");
  expect_near(outputs["grad.x"], reals({2, 4}, {0, 2, 0, 4, 0, 6, 0, 8}), 0, "x");
}

TEST(Gradient, ScatterOfRowsByAMatrixOfIndices) {
  std::string text =
      R"(graph @f(%x: f64[4, 2], %i: i64[2, 2], %u: f64[2, 2, 2], %w: f64[4, 2]) -> (loss) {
  %y = scatter %x, %i, %u
  %s = mul %y, %w
  %loss = sum %s {axes = [0, 1]}
  return %loss
})";
  check_gradients(text, {{"x", spread_reals({4, 2})},
                         {"i", integers({2, 2}, {3, 1, 1, 3}, DType::i64)},
                         {"u", spread_reals({2, 2, 2}, 2)},
                         {"w", spread_reals({4, 2}, 3)}});
}

TEST(Gradient, SoftmaxOfFullyMaskedRowsGivesZeros) {
  std::string text = R"(graph @f(%x: f64[2, 3], %m: bool[2, 3], %w: f64[2, 3]) -> (loss) {
  %masked = select %m, %x, -inf
  %p = softmax %masked
  %s = mul %p, %w
  %loss = sum %s {axes = [0, 1]}
  return %loss
})";
  Tensor mask = integers({2, 3}, {1, 0, 1, 0, 0, 0}, DType::boolean);
  TensorMap outputs = check_gradients(
      text, {{"x", spread_reals({2, 3})}, {"m", mask}, {"w", spread_reals({2, 3}, 2)}});
  for (int i = 3; i < 6; ++i) EXPECT_EQ(outputs["grad.x"].at(i), 0);
  EXPECT_EQ(outputs["grad.x"].at(1), 0);
}

TEST(Gradient, TheSideNotTakenLeaksNoNaN) {
  std::string text = R"(graph @f(%x: f64[3]) -> (loss) {
  %c = lt 0.0, %x
  %y = select %c, %x, nan
  %z = select %c, %y, 2.0
  %loss = sum %z {axes = [0]}
  return %loss
})";
  TensorMap outputs = check_gradients(text, {{"x", reals({3}, {1, -2, 3})}});
  expect_near(outputs["grad.x"], reals({3}, {1, 0, 1}), 0, "x");
}

struct SliceCase {
  std::string starts, limits, strides;
  int64_t size;
};

TEST(Gradient, StridedSlicesWithAndWithoutLeftover) {
  std::vector<SliceCase> cases = {{"[1]", "[7]", "[2]", 7}, {"[0]", "[8]", "[3]", 9},
                                  {"[2]", "[3]", "[5]", 8}, {"[4]", "[4]", "[2]", 6},
                                  {"[0]", "[N]", "[2]", 7}, {"[0]", "[N]", "[2]", 0},
                                  {"[1]", "[N]", "[3]", 8}, {"[0]", "[N - 1]", "[4]", 9},
                                  {"[1]", "[N]", "[1]", 5}, {"[0]", "[5]", "[2000000000]", 5}};
  for (const SliceCase& c : cases) {
    bool symbolic = c.limits.find('N') != std::string::npos;
    std::string dim = symbolic ? "N" : std::to_string(c.size);
    std::string text = "graph @f(%x: f64[" + dim +
                       "]) -> (loss) {\n  %y = slice %x {starts = " + c.starts +
                       ", limits = " + c.limits + ", strides = " + c.strides + "}\n" +
                       "  %q = mul %y, %y\n  %loss = sum %q {axes = [0]}\n  return %loss\n}";
    check_gradients(text, {{"x", spread_reals({c.size})}});
  }
}

TEST(Gradient, StridedSliceOfSeveralAxes) {
  std::string text = R"(graph @f(%x: f64[B, 5, T]) -> (loss) {
  %y = slice %x {starts = [0, 1, 0], limits = [B, 5, T], strides = [1, 2, 3]}
  %q = mul %y, %y
  %loss = sum %q {axes = [0, 1, 2]}
  return %loss
})";
  check_gradients(text, {{"x", spread_reals({2, 5, 7})}});
}

TEST(Gradient, PadWithInterior) {
  for (int64_t size : {0, 1, 4}) {
    for (const std::string& dim : {std::string("N"), std::to_string(size)}) {
      std::string text = "graph @f(%x: f64[" + dim + R"(]) -> (loss) {
  %y = pad %x {low = [2], high = [1], interior = [2], value = 3.0}
  %q = mul %y, %y
  %loss = sum %q {axes = [0]}
  return %loss
})";
      check_gradients(text, {{"x", spread_reals({size})}});
    }
  }
}

TEST(Gradient, MatmulSumsOverBroadcastBatches) {
  for (const std::string& types : {std::string("%x: f64[2, 1, 3, 4], %y: f64[5, 4, 2]"),
                                   std::string("%x: f64[2, 5, 3, 4], %y: f64[4, 2]"),
                                   std::string("%x: f64[3, 4], %y: f64[2, 5, 4, 2]"),
                                   std::string("%x: f64[B, 1, 3, 4], %y: f64[1, 5, 4, 2]")}) {
    std::string text = "graph @f(" + types + R"() -> (loss) {
  %z = matmul %x, %y
  %q = mul %z, %z
  %h = mul %q, 0.125
  %loss = sum %h {axes = [0, 1, 2, 3]}
  return %loss
})";
    Module module = must_parse(text);
    TensorMap inputs;
    int seed = 1;
    for (Value input : module.graphs[0].inputs()) {
      std::vector<int64_t> shape;
      for (const Dim& d : module.graphs[0].type(input).shape)
        shape.push_back(*d.evaluate({{"B", 2}}));
      inputs[module.graphs[0].input_name(input)] = spread_reals(shape, seed++);
    }
    check_gradients(text, inputs);
  }
}

TEST(Gradient, DropoutDropsTheSameElements) {
  std::string text = R"(graph @f(%x: f64[40], %rng: u32[2]) -> (loss) {
  %y = dropout %x, %rng {rate = 0.5, stream = 3}
  %q = mul %y, %y
  %loss = sum %q {axes = [0]}
  return %loss
})";
  Tensor rng = integers({2}, {7, 1}, DType::u32);
  TensorMap outputs = check_gradients(text, {{"x", spread_reals({40})}, {"rng", rng}});
  int64_t dropped = 0;
  for (int64_t i = 0; i < 40; ++i) dropped += outputs["grad.x"].at(i) == 0;
  EXPECT_GT(dropped, 5);
  EXPECT_LT(dropped, 35);
}

TEST(Gradient, CrossEntropyWithSmoothingAndIgnoredTargets) {
  std::string text = R"(graph @f(%x: f64[B, V], %t: i32[B], %w: f64[B]) -> (loss) {
  %l = cross_entropy %x, %t {label_smoothing = 0.1}
  %s = mul %l, %w
  %loss = sum %s {axes = [0]}
  return %loss
})";
  TensorMap outputs = check_gradients(text, {{"x", spread_reals({3, 5})},
                                             {"t", integers({3}, {4, -100, 0})},
                                             {"w", reals({3}, {1, 2, 3})}});
  for (int i = 5; i < 10; ++i) EXPECT_EQ(outputs["grad.x"].at(i), 0);
}

TEST(Gradient, FocalForGammasAroundOne) {
  for (const char* gamma : {"0.0", "0.5", "1.0", "2.0"}) {
    std::string text =
        "graph @f(%x: f64[3, 4], %t: i64[3]) -> (loss) {\n  %l = focal %x, %t {gamma = " +
        std::string(gamma) + "}\n  %loss = sum %l {axes = [0]}\n  return %loss\n}";
    check_gradients(text,
                    {{"x", spread_reals({3, 4})}, {"t", integers({3}, {1, -100, 3}, DType::i64)}});
  }
}

TEST(Gradient, FocalOfACertainTargetIsNotNaN) {
  std::string text = R"(graph @f(%x: f64[1, 2], %t: i32[1]) -> (loss) {
  %l = focal %x, %t {gamma = 0.5}
  %loss = sum %l {axes = [0]}
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  for (double logit : {800.0, -800.0}) {
    TensorMap inputs = {{"x", reals({1, 2}, {logit, 0})}, {"t", integers({1}, {0})}};
    TensorMap outputs = must_run(module, "backward", inputs).outputs;
    double slope = logit > 0 ? 0 : -1;
    expect_near(outputs["grad.x"], reals({1, 2}, {slope, -slope}), 1e-12, "x");
  }
}

TEST(Gradient, PowAtZeroAndBelow) {
  std::string text = R"(graph @f(%x: f64[4], %y: f64[4]) -> (loss) {
  %p = pow %x, %y
  %loss = sum %p {axes = [0]}
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  TensorMap inputs = {{"x", reals({4}, {0, 0, -2, 2})}, {"y", reals({4}, {0, 2, 3, -1})}};
  TensorMap outputs = must_run(module, "backward", inputs).outputs;
  expect_near(outputs["grad.x"], reals({4}, {0, 0, 12, -0.25}), 1e-12, "x");
  expect_near(outputs["grad.y"], reals({4}, {0, 0, 0, 0.5 * std::log(2)}), 1e-12, "y");
}

TEST(Gradient, TiesShare) {
  std::string text = R"(graph @f(%x: f64[4], %y: f64[4]) -> (loss) {
  %m = max %x {axes = [0]}
  %a = maximum %x, %y
  %s = sum %a {axes = [0]}
  %loss = add %m, %s
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  TensorMap inputs = {{"x", reals({4}, {1, 3, 3, 2})}, {"y", reals({4}, {1, 4, 0, 2})}};
  TensorMap outputs = must_run(module, "backward", inputs).outputs;
  expect_near(outputs["grad.x"], reals({4}, {0.5, 0.5, 1.5, 0.5}), 1e-12, "x");
  expect_near(outputs["grad.y"], reals({4}, {0.5, 1, 0, 0.5}), 1e-12, "y");
}

TEST(Gradient, GlobalNormOfZerosIsZero) {
  std::string text = R"(graph @f(%x: f64[2], %y: f64[3]) -> (loss) {
  %loss = global_norm %x, %y
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  TensorMap zeros = {{"x", reals({2}, {0, 0})}, {"y", reals({3}, {0, 0, 0})}};
  expect_near(must_run(module, "backward", zeros).outputs["grad.x"], reals({2}, {0, 0}), 0, "x");
  check_gradients(text, {{"x", reals({2}, {1, -2})}, {"y", spread_reals({3})}});
}

TEST(Gradient, MeansOverSymbolicSizes) {
  std::string text = R"(graph @f(%x: f64[B, 2, T], %g: f64[T], %c: f64[T]) -> (loss) {
  %n = layer_norm %x, %g, %c
  %q = mul %n, %x
  %m = mean %q {axes = [0, 2]}
  %r = rms_norm %m, %m
  %target = mul %m, 0.5
  %loss = mse %r, %target
  return %loss
})";
  TensorMap inputs = {
      {"x", spread_reals({3, 2, 4})}, {"g", spread_reals({4}, 2)}, {"c", spread_reals({4}, 3)}};
  check_gradients(text, inputs);
}

TEST(Gradient, CountsThatTheTypeCannotHoldAreStillExact) {
  std::string text = R"(graph @f(%x: bf16[301]) -> (loss) {
  %loss = mean %x {axes = [0]}
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  Tensor x = Tensor::zeros(DType::bf16, {301});
  EXPECT_DOUBLE_EQ(must_run(module, "backward", {{"x", x}}).outputs["grad.x"].at(300), 1.0 / 301);
}

TEST(Gradient, LogSumExpOfMaskedRows) {
  std::string text = R"(graph @f(%x: f64[2, 3]) -> (loss) {
  %l = logsumexp %x
  %p = exp %l
  %loss = sum %p {axes = [0]}
  return %loss
})";
  Module module = must_parse(text);
  ASSERT_TRUE(add_backward(module, {"", "loss", {}, ""}).ok());
  TensorMap inputs = {{"x", reals({2, 3}, {-kInf, -kInf, -kInf, 0, 1, -kInf})}};
  Tensor grad = must_run(module, "backward", inputs).outputs["grad.x"];
  expect_near(grad, reals({2, 3}, {0, 0, 0, 1, std::exp(1.0), 0}), 1e-12, "x");
}

}  // namespace
}  // namespace weft::test
