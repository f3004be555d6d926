// Initial values: reproducible, independent of other storage, of the promised distribution.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "ir/oracle/oracle.h"

namespace weft {
namespace {

Storage storage(const std::string& name, Type type, Init init) {
  Storage result;
  result.name = name;
  result.type = std::move(type);
  result.init = init;
  return result;
}

Tensor value_of(const Storage& what, uint64_t seed = 1) {
  return initial_value(what, seed).value();
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments(const Tensor& tensor) {
  Moments result;
  auto count = static_cast<double>(tensor.size());
  for (double x : tensor.reals) {
    result.mean += x / count;
    result.largest = std::max(result.largest, std::fabs(x));
  }
  for (double x : tensor.reals) {
    result.deviation += (x - result.mean) * (x - result.mean) / count;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(InitialValue, Constants) {
  EXPECT_EQ(value_of(storage("a", {DType::f32, {3}}, {Init::zeros})).reals,
            (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(value_of(storage("a", {DType::i32, {2}}, {Init::ones})).integers,
            (std::vector<int64_t>{1, 1}));
  // Rounded to the type: 0.1 is no f16.
  EXPECT_EQ(value_of(storage("a", {DType::f16, {}}, {Init::constant, 0.1})).reals,
            (std::vector<double>{0.0999755859375}));
}

TEST(InitialValue, DependsOnNameAndSeedOnly) {
  Storage a = storage("a", {DType::f32, {101}}, {Init::normal, 1});
  Storage b = a;
  b.name = "b";
  EXPECT_EQ(value_of(a).reals, value_of(a).reals);
  EXPECT_NE(value_of(a).reals, value_of(b).reals);
  EXPECT_NE(value_of(a, 1).reals, value_of(a, 2).reals);
  EXPECT_NE(value_of(a, 1).reals, value_of(a, 1 + (uint64_t{1} << 32)).reals);
}

TEST(InitialValue, NormalHasItsDeviation) {
  Moments m = moments(value_of(storage("w", {DType::f32, {400, 251}}, {Init::normal, 0.02})));
  EXPECT_NEAR(m.mean, 0, 0.02 * 4 / std::sqrt(100400));
  EXPECT_NEAR(m.deviation, 0.02, 0.02 * 0.01);
  EXPECT_GT(m.largest, 0.02 * 3.5);
  EXPECT_LT(m.largest, 0.02 * 6);
}

TEST(InitialValue, UniformFillsItsInterval) {
  Moments m = moments(value_of(storage("w", {DType::f64, {100001}}, {Init::uniform, 3})));
  EXPECT_NEAR(m.mean, 0, 0.03);
  EXPECT_NEAR(m.deviation, 3 / std::sqrt(3), 0.02);
  EXPECT_LE(m.largest, 3);
  EXPECT_GT(m.largest, 2.99);
}

TEST(InitialValue, XavierCountsFans) {
  Moments m = moments(value_of(storage("w", {DType::f32, {4, 50, 100}}, {Init::xavier_uniform})));
  double limit = std::sqrt(6.0 / 300);
  EXPECT_LE(m.largest, limit * (1 + 1e-6));
  EXPECT_GT(m.largest, limit * 0.999);
}

TEST(InitialValue, ValuesAreOfTheType) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (double x : value_of(storage("w", {dtype, {50}}, {Init::normal, 1})).reals) {
      EXPECT_EQ(x, round_to(dtype, x));
    }
  }
}

TEST(InitialValue, SymbolicSizesComeFromTheBinding) {
  Storage cache = storage("cache", {DType::f32, {Dim::symbol("B"), 2}}, {Init::zeros});
  EXPECT_EQ(initial_value(cache, 1, {{"B", 3}}).value().shape, (std::vector<int64_t>{3, 2}));
  Result<Tensor> unknown = initial_value(cache, 1);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.diagnostics()[0].message, "@cache: the size of B is not known");
  EXPECT_EQ(unknown.diagnostics()[0].hint, "give it: --dim B=16");
}

TEST(InitialValue, RefusesWhatDoesNotFit) {
  Result<Tensor> huge =
      initial_value(storage("w", {DType::f32, {1 << 20, 1 << 20}}, {Init::zeros}), 1);
  ASSERT_FALSE(huge.ok());
  EXPECT_NE(huge.diagnostics()[0].message.find("limit is 8 GiB"), std::string::npos);
}

}  // namespace
}  // namespace weft
