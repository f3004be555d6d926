// What keeps the oracle within its memory: equalities that hold, empty tensors, counted bytes, and
// initial values that fit their type.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "ir/oracle/oracle.h"
#include "ir/text/text.h"

namespace weft {
namespace {

Tensor zeros(std::vector<int64_t> shape, DType dtype = DType::f32) {
  return Tensor::zeros(dtype, std::move(shape));
}

Result<OracleResult> run(const std::string& text, const TensorMap& inputs,
                         const DimBinding& dims = {}) {
  Module module = parse("test.weft", text).value();
  return run_oracle(module, module.graphs[0], inputs, {}, dims);
}

std::string module_of(const std::string& facts, const std::string& arguments,
                      const std::string& body) {
  return "module \"m\" {\n" + facts + "graph @g(" + arguments + ") -> (y) {\n" + body +
         "\nreturn %y\n}\n}\n";
}

std::string message(const Result<OracleResult>& result) {
  return result.ok() ? "" : result.diagnostics()[0].message;
}

const std::string kJoined = "assert A == 2*K\nassert C == 2*K\n";
const std::string kArguments = "%a: f32[A, 1], %c: f32[C, 1]";
const std::string kConcat = "%y = concat %a, %c {axis = 1}";

TEST(OracleBounds, EqualitiesWithAnUnknownAreSolvedAndHold) {
  std::string text = module_of(kJoined, kArguments, kConcat);
  EXPECT_TRUE(run(text, {{"a", zeros({4, 1})}, {"c", zeros({4, 1})}}).ok());
  EXPECT_EQ(message(run(text, {{"a", zeros({4, 1})}, {"c", zeros({2, 1})}})),
            "the module asserts C == 2*K, but they are 2 and 4");
  EXPECT_EQ(message(run(text, {{"a", zeros({5, 1})}, {"c", zeros({5, 1})}})),
            "the module asserts A == 2*K, but 2*K cannot be 5");
}

TEST(OracleBounds, AnEqualityThatCannotBeCheckedNamesTheSymbol) {
  std::string facts = "assert A == 2*K + L\nassert C == 2*K + L\n";
  std::string text = module_of(facts, kArguments, kConcat);
  TensorMap unequal = {{"a", zeros({4, 1})}, {"c", zeros({2, 1})}};
  Result<OracleResult> open = run(text, unequal);
  EXPECT_EQ(message(open), "the assertion A == 2*K + L: the size of K is not known");
  EXPECT_EQ(open.diagnostics()[0].hint, "give it: --dim K=16");
  EXPECT_EQ(message(run(text, unequal, {{"K", 1}})),
            "the module asserts C == 2*K + L, but they are 2 and 4");
  EXPECT_TRUE(run(text, {{"a", zeros({4, 1})}, {"c", zeros({4, 1})}}, {{"K", 1}}).ok());
}

TEST(OracleBounds, EqualitiesOfOtherSymbolsAreLeftAlone) {
  std::string text = module_of("assert P == 2*Q + R\n", "%a: f32[A]", "%y = neg %a");
  EXPECT_TRUE(run(text, {{"a", zeros({4})}}).ok());
}

TEST(OracleBounds, EmptyResultsTakeNoTime) {
  const std::string huge = "1000000000000000000";
  auto shape_of = [](const std::string& arguments, const std::string& body,
                     const TensorMap& inputs) {
    return run(module_of("", arguments, body), inputs).value().outputs.at("y").shape;
  };
  EXPECT_EQ(shape_of("", "%y = causal_mask {rows = " + huge + ", cols = 0}", {}).back(), 0);
  const int64_t a = int64_t{1} << 30, b = int64_t{1} << 29;
  std::string type = "%x: f32[1073741824, 0, 536870912]";
  TensorMap inputs = {{"x", zeros({a, 0, b})}};
  for (const char* body : {"softmax", "log_softmax", "cumsum"}) {
    EXPECT_EQ(shape_of(type, cat("%y = ", body, " %x {axis = 1}"), inputs),
              (std::vector<int64_t>{a, 0, b}));
  }
  EXPECT_EQ(shape_of("%x: f32[1073741824, 5, 0]", "%y = softmax %x {axis = 1}",
                     {{"x", zeros({a, 5, 0})}}),
            (std::vector<int64_t>{a, 5, 0}));
  EXPECT_EQ(shape_of(type + ", %i: i32[2]", "%y = gather %x, %i {axis = 0}",
                     {{"x", inputs["x"]}, {"i", zeros({2}, DType::i32)}}),
            (std::vector<int64_t>{2, 0, b}));
}

TEST(OracleBounds, AnEmptyBatchOfLargeMatricesTakesNoMemory) {
  const int64_t n = int64_t{1} << 28;
  Tensor lhs = zeros({0, n, 1}), rhs = zeros({0, 1, n});
  Result<OracleResult> result =
      run(module_of("", "%a: f32[0, 268435456, 1], %b: f32[0, 1, 268435456]", "%y = matmul %a, %b"),
          {{"a", lhs}, {"b", rhs}});
  EXPECT_EQ(result.value().outputs.at("y").shape, (std::vector<int64_t>{0, n, n}));
}

TEST(OracleBounds, ARowOfNothingHasTheLogarithmOfZero) {
  Tensor y =
      run(module_of("", "%x: f32[2, 0]", "%y = logsumexp %x {axis = 1}"), {{"x", zeros({2, 0})}})
          .value()
          .outputs.at("y");
  const double nothing = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(y.reals, (std::vector<double>{nothing, nothing}));
}

TEST(OracleBounds, StorageIsCountedTogether) {
  Storage one;
  one.name = "w";
  one.type = {DType::f32, {Dim(1024)}};
  const int64_t limit = int64_t{8} << 30;
  EXPECT_TRUE(initial_value(one, 1, {}, limit - 8192).ok());
  EXPECT_FALSE(initial_value(one, 1, {}, limit - 8191).ok());
}

TEST(OracleBounds, InputsAreCountedWithWhatIsComputed) {
  // The whole limit, but for the 8 bytes of the input.
  std::string text = module_of("", "%x: f32[1]", "%y = broadcast %x {shape = [1073741824]}");
  EXPECT_EQ(message(run(text, {{"x", zeros({1})}})),
            "broadcast: [1073741824] needs 8 GiB beside 0 GiB; the oracle's limit is 8 GiB");
}

std::string init_error(const std::string& type, const std::string& init) {
  std::string state = "state @s: " + type + " = " + init + "\n";
  std::string text = module_of(state, "%x: f32[1]", "%y = neg %x");
  Result<Module> module = parse("test.weft", text);
  return module.ok() ? "" : module.diagnostics()[0].message;
}

TEST(OracleBounds, InitialValuesFitTheirType) {
  EXPECT_EQ(init_error("i32[2]", "normal(1.0)"),
            "@s: i32[2] = normal(1.0): random values need a float type, not i32");
  EXPECT_NE(init_error("i32[2]", "xavier_uniform"), "");
  EXPECT_NE(init_error("bool[2]", "uniform(1.0)"), "");
  EXPECT_NE(init_error("i32[2]", "constant(0.5)").find("0.5 is not a whole number"),
            std::string::npos);
  EXPECT_NE(init_error("i8[2]", "constant(128)").find("128 is not within -128 and 127"),
            std::string::npos);
  EXPECT_NE(init_error("u8[2]", "constant(-1)"), "");
  EXPECT_NE(init_error("bool[2]", "constant(2)"), "");
  EXPECT_NE(init_error("i64[2]", "constant(9007199254740993)").find("is not exact"),
            std::string::npos);
  EXPECT_NE(init_error("f32[2]", "normal(-1.0)").find("not a finite number of at least 0"),
            std::string::npos);
  EXPECT_NE(init_error("f32[2]", "uniform(inf)"), "");
  EXPECT_EQ(init_error("f32[2]", "constant(-inf)"), "");
  EXPECT_EQ(init_error("i8[2]", "constant(-128)"), "");
  EXPECT_EQ(init_error("i64[2]", "constant(9007199254740991)"), "");
  EXPECT_EQ(init_error("bool[2]", "ones"), "");
}

}  // namespace
}  // namespace weft
