// The oracle: ops checked by hand where NaN, wrapping or order matter, and what it refuses.
// SPDX-License-Identifier: Apache-2.0
#include "ir/oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/text/text.h"

namespace weft {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor reals(std::vector<int64_t> shape, std::vector<double> values, DType dtype = DType::f32) {
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  tensor.reals = std::move(values);
  return tensor;
}

Tensor integers(std::vector<int64_t> shape, std::vector<int64_t> values, DType dtype = DType::i32) {
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  tensor.integers = std::move(values);
  return tensor;
}

Result<OracleResult> run(const std::string& text, const TensorMap& inputs,
                         const DimBinding& dims = {}, const TensorMap& storage = {}) {
  Module module = parse("test.weft", text).value();
  return run_oracle(module, module.graphs[0], inputs, storage, dims);
}

// The only output of a graph with the body `%y = ...`.
Tensor output(const std::string& arguments, const std::string& body, const TensorMap& inputs,
              const DimBinding& dims = {}) {
  auto result =
      run("graph @g(" + arguments + ") -> (y) {\n" + body + "\nreturn %y\n}\n", inputs, dims);
  return result.value().outputs.at("y");
}

Diagnostic failure(const std::string& arguments, const std::string& body, const TensorMap& inputs,
                   const DimBinding& dims = {}) {
  auto result =
      run("graph @g(" + arguments + ") -> (y) {\n" + body + "\nreturn %y\n}\n", inputs, dims);
  EXPECT_FALSE(result.ok());
  return result.ok() ? Diagnostic{} : result.diagnostics()[0];
}

void expect_same(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << "element " << i << " is " << got[i];
    } else {
      EXPECT_DOUBLE_EQ(got[i], want[i]) << "element " << i;
    }
  }
}

TEST(Oracle, MaximumPropagatesNanFromEitherSide) {
  Tensor y =
      output("%a: f32[4], %b: f32[4]", "%y = maximum %a, %b",
             {{"a", reals({4}, {kNan, 1, 3, -kInf})}, {"b", reals({4}, {1, kNan, 2, -kInf})}});
  expect_same(y.reals, {kNan, kNan, 3, -kInf});
}

TEST(Oracle, ReductionsPropagateNanAndKnowTheirEmptyValue) {
  TensorMap inputs = {{"x", reals({2, 3}, {1, kNan, 2, 5, 4, 6})}};
  expect_same(output("%x: f32[2, 3]", "%y = min %x {axes = [1]}", inputs).reals, {kNan, 4});
  TensorMap empty = {{"x", reals({2, 0}, {})}};
  expect_same(output("%x: f32[2, 0]", "%y = max %x {axes = [1]}", empty).reals, {-kInf, -kInf});
  expect_same(output("%x: f32[2, 0]", "%y = mean %x {axes = [1]}", empty).reals, {kNan, kNan});
  expect_same(output("%x: f32[2, 0]", "%y = prod %x {axes = [1]}", empty).reals, {1, 1});
}

TEST(Oracle, LargestTreatsNanAsLargestAndPrefersTheFirst) {
  TensorMap inputs = {{"x", reals({2, 4}, {1, 3, 3, 2, kInf, kNan, 0, kNan})}};
  EXPECT_EQ(output("%x: f32[2, 4]", "%y = argmax %x {axis = 1}", inputs).integers,
            (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(output("%x: f32[2, 4]", "%v, %y = top_k %x {k = 3}", inputs).integers,
            (std::vector<int64_t>{1, 2, 3, 1, 3, 0}));
}

TEST(Oracle, SoftmaxOfMaskedRowsIsZero) {
  TensorMap inputs = {{"x", reals({3, 2}, {-kInf, -kInf, 0, -kInf, kInf, 0})}};
  expect_same(output("%x: f32[3, 2]", "%y = softmax %x", inputs).reals, {0, 0, 1, 0, kNan, kNan});
  expect_same(output("%x: f32[3, 2]", "%y = log_softmax %x", inputs).reals,
              {-kInf, -kInf, 0, -kInf, kNan, -kInf});
  expect_same(output("%x: f32[3, 2]", "%y = logsumexp %x", inputs).reals, {-kInf, 0, kInf});
}

TEST(Oracle, IntegersWrap) {
  TensorMap inputs = {{"a", integers({3}, {127, -128, 100}, DType::i8)},
                      {"b", integers({3}, {1, -1, 3}, DType::i8)}};
  std::string arguments = "%a: i8[3], %b: i8[3]";
  EXPECT_EQ(output(arguments, "%y = add %a, %b", inputs).integers,
            (std::vector<int64_t>{-128, 127, 103}));
  EXPECT_EQ(output(arguments, "%y = mul %a, %b", inputs).integers,
            (std::vector<int64_t>{127, -128, 44}));
  EXPECT_EQ(output(arguments, "%y = floordiv %a, %b", inputs).integers,
            (std::vector<int64_t>{127, -128, 33}));
}

TEST(Oracle, IntegerDivisionIsFlooredAndTotal) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  TensorMap inputs = {{"a", integers({5}, {-7, 7, 7, kLowest, 1}, DType::i64)},
                      {"b", integers({5}, {2, -2, 0, -1, kLowest}, DType::i64)}};
  std::string arguments = "%a: i64[5], %b: i64[5]";
  EXPECT_EQ(output(arguments, "%y = floordiv %a, %b", inputs).integers,
            (std::vector<int64_t>{-4, -4, 0, kLowest, -1}));
  EXPECT_EQ(output(arguments, "%y = mod %a, %b", inputs).integers,
            (std::vector<int64_t>{1, -1, 0, 0, kLowest + 1}));
  EXPECT_EQ(output(arguments, "%y = abs %a", inputs).integers[3], kLowest);
}

TEST(Oracle, CastRoundsOnceAndSaturates) {
  // 2^62 + 2^54 lies between two bf16 numbers; one more decides it, though a double would lose it.
  int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  TensorMap inputs = {{"x", integers({3}, {tie, tie + 1, -tie - 1}, DType::i64)}};
  double below = 0x1p62;
  double above = 0x1p62 + 0x1p55;
  expect_same(output("%x: i64[3]", "%y = cast %x {dtype = bf16}", inputs).reals,
              {below, above, -above});
  TensorMap floats = {{"x", reals({5}, {-1.9, 300, kNan, -kInf, 0.5})}};
  EXPECT_EQ(output("%x: f32[5]", "%y = cast %x {dtype = i8}", floats).integers,
            (std::vector<int64_t>{-1, 127, 0, -128, 0}));
  EXPECT_EQ(output("%x: f32[5]", "%y = cast %x {dtype = bool}", floats).integers,
            (std::vector<int64_t>{1, 1, 1, 1, 1}));
}

TEST(Oracle, MatmulBroadcastsBatches) {
  TensorMap inputs = {{"a", reals({2, 1, 2}, {1, 2, 3, 4})}, {"b", reals({2, 2}, {1, 0, 0, 10})}};
  Tensor y = output("%a: f32[2, 1, 2], %b: f32[2, 2]", "%y = matmul %a, %b", inputs);
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 1, 2}));
  expect_same(y.reals, {1, 20, 3, 40});
  TensorMap empty = {{"a", reals({2, 0}, {})}, {"b", reals({0, 3}, {})}};
  expect_same(output("%a: f32[2, 0], %b: f32[0, 3]", "%y = matmul %a, %b", empty).reals,
              {0, 0, 0, 0, 0, 0});
}

TEST(Oracle, CrossEntropyIgnoresAndRefusesTargets) {
  std::string arguments = "%x: f32[2, 2], %t: i32[2]";
  TensorMap inputs = {{"x", reals({2, 2}, {0, 0, 5, 1})}, {"t", integers({2}, {1, -100})}};
  expect_same(output(arguments, "%y = cross_entropy %x, %t", inputs).reals, {std::log(2), 0});
  inputs["t"] = integers({2}, {1, 2});
  EXPECT_EQ(failure(arguments, "%y = cross_entropy %x, %t", inputs).message,
            "cross_entropy: target 2 at position [1] is out of range for 2 classes");
  TensorMap empty = {{"x", reals({2, 0}, {})}, {"t", integers({2}, {-100, -100})}};
  EXPECT_EQ(failure("%x: f32[2, 0], %t: i32[2]", "%y = cross_entropy %x, %t", empty).message,
            "cross_entropy: there are no classes");
}

TEST(Oracle, ScatterAddsEqualIndices) {
  TensorMap inputs = {{"x", reals({3, 1}, {1, 2, 3})},
                      {"i", integers({3}, {2, 0, 2})},
                      {"u", reals({3, 1}, {10, 20, 30})}};
  std::string arguments = "%x: f32[3, 1], %i: i32[3], %u: f32[3, 1]";
  expect_same(output(arguments, "%y = scatter_add %x, %i, %u", inputs).reals, {21, 2, 43});
  expect_same(output(arguments, "%y = scatter %x, %i, %u", inputs).reals, {20, 2, 30});
}

// As on a device, which walks over elements.
TEST(Oracle, AnIndexThatNothingIsReadWithMayBeAny) {
  TensorMap inputs = {{"x", reals({3, 0}, {})}, {"i", integers({1}, {9})}};
  EXPECT_EQ(output("%x: f32[3, 0], %i: i32[1]", "%y = gather %x, %i", inputs).shape,
            (std::vector<int64_t>{1, 0}));
  std::string scatter = "%u = gather %x, %i\n%y = scatter_add %x, %i, %u";
  EXPECT_EQ(output("%x: f32[3, 0], %i: i32[1]", scatter, inputs).shape,
            (std::vector<int64_t>{3, 0}));
  inputs = {{"x", reals({3, 0}, {})}, {"s", integers({}, {9})}};
  std::string arguments = "%x: f32[3, 0], %s: i32[]";
  std::string slice = "%y = dynamic_slice %x, %s {axis = 0, size = 2}";
  EXPECT_EQ(output(arguments, slice, inputs).shape, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(output(arguments, "%y = update_slice %x, %x, %s {axis = 0}", inputs).shape,
            (std::vector<int64_t>{3, 0}));
}

TEST(Oracle, IndexErrorsNameOpValueAndPosition) {
  TensorMap inputs = {{"x", reals({3}, {1, 2, 3})}, {"i", integers({2, 2}, {0, 1, 2, -1})}};
  Diagnostic d = failure("%x: f32[3], %i: i32[2, 2]", "%y = gather %x, %i", inputs);
  EXPECT_EQ(d.message, "gather: index -1 at position [1, 1] is out of range for axis 0 of size 3");
  EXPECT_EQ(d.loc.line, 2u);
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_EQ(d.notes[0].message, "while computing %y : f32[2, 2] from %x, %i");

  inputs = {{"x", reals({3}, {1, 2, 3})}, {"s", integers({}, {2})}};
  EXPECT_EQ(
      failure("%x: f32[3], %s: i32[]", "%y = dynamic_slice %x, %s {axis = 0, size = 2}", inputs)
          .message,
      "dynamic_slice: start 2 with size 2 leaves axis 0 of size 3");
}

TEST(Oracle, BindsSymbolsFromInputsAndOptions) {
  TensorMap inputs = {{"x", reals({2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(output("%x: f32[B, T]", "%y = reshape %x {shape = [B*T]}", inputs).shape,
            (std::vector<int64_t>{6}));
  std::string made = "%m = iota {shape = [N], dtype = f32}\n%y = sum %m {axes = [0]}";
  expect_same(output("%x: f32[B, T]", made, inputs, {{"N", 4}}).reals, {6});
  Diagnostic d = failure("%x: f32[B, T]", made, inputs);
  EXPECT_EQ(d.message, "graph @g: the size of N is not known");
  EXPECT_EQ(d.hint, "give it: --dim N=16");
}

TEST(Oracle, RefusesInputsThatDoNotFit) {
  std::string arguments = "%x: f32[B, T], %w: f32[T, 4]";
  std::string body = "%y = matmul %x, %w";
  Tensor x = reals({2, 3}, std::vector<double>(6));
  Tensor w = reals({3, 4}, std::vector<double>(12));
  EXPECT_EQ(failure(arguments, body, {{"x", x}}).message,
            "input w of graph @g is missing: expected f32[T, 4]");
  Diagnostic d = failure(arguments, body, {{"x", x}, {"w", w}, {"xs", x}});
  EXPECT_EQ(d.message, "graph @g has no input xs");
  EXPECT_EQ(d.hint, "did you mean 'x'?");
  d = failure(arguments, body, {{"x", reals({2, 3}, x.reals, DType::f64)}, {"w", w}});
  EXPECT_EQ(d.message, "input x: expected f32[B, T], got f64[2, 3]");
  EXPECT_EQ(d.hint, "convert it to f32");
  EXPECT_EQ(failure(arguments, body, {{"x", reals({6}, x.reals)}, {"w", w}}).message,
            "input x: expected f32[B, T] of rank 2, got f32[6] of rank 1");
  EXPECT_EQ(
      failure(arguments, body, {{"x", x}, {"w", reals({4, 4}, std::vector<double>(16))}}).message,
      "input w: expected f32[T, 4], got f32[4, 4]: axis 0 is 4 instead of T = 3");
  EXPECT_EQ(failure(arguments, body, {{"x", x}, {"w", w}}, {{"B", 5}}).message,
            "input x: expected f32[B, T], got f32[2, 3]: axis 0 is 2 instead of B = 5");
}

TEST(Oracle, ChecksBoundsAndEqualities) {
  Module module = parse("test.weft",
                        "graph @g(%x: f32[A], %z: f32[B]) -> (y) {\n"
                        "%y = neg %x\nreturn %y\n}\n")
                      .value();
  const Graph& graph = module.graphs[0];
  TensorMap inputs = {{"x", reals({3}, {1, 2, 3})}, {"z", reals({6}, {1, 2, 3, 4, 5, 6})}};
  Dim a = Dim::symbol("A");
  Dim b = Dim::symbol("B");
  module.dims.assert_equal(b, a * 2);
  EXPECT_TRUE(run_oracle(module, graph, inputs, {}).ok());
  module.dims.bounds["A"] = {1, 2};
  EXPECT_EQ(run_oracle(module, graph, inputs, {}).diagnostics()[0].message,
            "A is 3, but its bounds are 1 and 2");
  module.dims = {};
  module.dims.assert_equal(a, b);
  EXPECT_EQ(run_oracle(module, graph, inputs, {}).diagnostics()[0].message,
            "the module asserts A == B, but they are 3 and 6");
  // A symbol that no shape gives follows from the equality.
  module.dims = {};
  module.dims.assert_equal(Dim::symbol("C"), Dim::symbol("D") + 1);
  module.dims.assert_equal(Dim::symbol("D"), a + b);
  EXPECT_EQ(bind_dims(module, graph, inputs, {}).value(),
            (DimBinding{{"A", 3}, {"B", 6}, {"C", 10}, {"D", 9}}));
}

TEST(Oracle, RefusesWhatDoesNotFitBeforeAllocating) {
  TensorMap inputs = {{"x", reals({1}, {1})}};
  std::string body = "%y = broadcast %x {shape = [N, N]}";
  EXPECT_EQ(
      failure("%x: f32[1]", body, inputs, {{"N", 1 << 20}}).message,
      "broadcast: [1048576, 1048576] needs 8.19e+03 GiB beside 0 GiB; the oracle's limit is 8 GiB");
  EXPECT_NE(failure("%x: f32[1]", "%y = broadcast %x {shape = [N, N, N]}", inputs, {{"N", 1 << 30}})
                .message.find("too many elements"),
            std::string::npos);
}

TEST(Oracle, UpdatesReadTheOldValue) {
  std::string text =
      "module \"m\" {\n"
      "state @s: f32[2] = zeros\n"
      "graph @g(%x: f32[2]) -> (y) {\n"
      "%n = add @s, %x\n%y = mul @s, %x\nupdate @s = %n\nreturn %y\n}\n}\n";
  TensorMap storage = {{"s", reals({2}, {10, 20})}};
  auto result = run(text, {{"x", reals({2}, {1, 2})}}, {}, storage);
  expect_same(result.value().outputs.at("y").reals, {10, 40});
  expect_same(result.value().updates.at("s").reals, {11, 22});
  auto missing = run(text, {{"x", reals({2}, {1, 2})}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.diagnostics()[0].message, "@s has no value: expected f32[2]");
}

TEST(Oracle, DropoutKeepsTheExpectation) {
  Tensor rng = integers({2}, {1, 2}, DType::u32);
  Tensor y =
      output("%x: f32[10000], %rng: u32[2]", "%y = dropout %x, %rng {rate = 0.25, stream = 3}",
             {{"x", reals({10000}, std::vector<double>(10000, 3))}, {"rng", rng}});
  double sum = 0;
  for (double v : y.reals) {
    EXPECT_TRUE(v == 0 || v == 4);
    sum += v;
  }
  EXPECT_NEAR(sum / 10000, 3, 0.1);
}

}  // namespace
}  // namespace weft
