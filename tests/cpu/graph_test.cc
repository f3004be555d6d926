// Graphs whose code was wrong once, each as small as it could be made, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/execute.h"
#include "driver/verify_device.h"
#include "ir/text/text.h"
#include "tests/support/must_parse.h"
#include "tests/support/suite.h"

namespace weft {
namespace {

using test::must_parse;
using testing::HasSubstr;

void expect_agrees(const std::string& text, const DimBinding& sizes = {}) {
  const Module module = must_parse(text);
  for (const char* target : {"generic", "native"}) {
    DeviceVerifyOptions options;
    options.request.target_cpu = target;
    options.common.dims = sizes;
    options.threads = 2;
    Result<DeviceVerifyReport> report = verify_device(module, options);
    ASSERT_TRUE(report.ok()) << render(report.diagnostics());
    EXPECT_EQ(report->difference, "") << target;
  }
}

// Both indices are checked before the same loop: the second check splits the code of the first.
TEST(CpuGraph, ChecksBeforeOneLoop) {
  expect_agrees(R"(
graph @forward(%x: f32[]) -> (y) {
  %table = broadcast %x {shape = [T, 4, 4, 2]}
  %i = iota {shape = [2]}
  %rows = mul %i, 3
  %columns = iota {shape = [3]}
  %g = gather %table, %rows {axis = 1}
  %y = gather %g, %columns {axis = 2}
  return %y
}
)");
}

// Part of a row begins beyond a tensor that has no rows; the sum over them is zeros.
TEST(CpuGraph, SumsOverPartsOfNothing) {
  const std::string text = R"(
module "parts" {
  dim P in 0..16
  dim N in 0..16
  graph @forward(%x: f32[P+N, 2, 512], %g: f32[N, 24]) -> (dw) {
    %part = slice %x {starts = [P, 1, 0], limits = [P+N, 2, 512]}
    %rows = reshape %part {shape = [N, 512]}
    %columns = transpose %rows {perm = [1, 0]}
    %dw = matmul %columns, %g
    return %dw
  }
}
)";
  for (int64_t p : {0, 3}) {
    for (int64_t n : {0, 2}) {
      SCOPED_TRACE(cat("P=", p, " N=", n));
      expect_agrees(text, {{"P", p}, {"N", n}});
    }
  }
}

// Results of more than four megabytes go past the caches, but for those that begin or end within
// a vector.
TEST(CpuGraph, LargeResultsAreStoredPastTheCaches) {
  if (suite() == "quick") GTEST_SKIP() << "takes seconds";
  expect_agrees(R"(
graph @forward(%x: f32[2100, 512], %y: f32[1100003]) -> (a, b, c) {
  %a = softmax %x
  %b = exp %y
  %part = slice %b {starts = [3], limits = [1100003]}
  %c = tanh %part
  return %a, %b, %c
}
)");
}

// The new state takes the place of the old one, which the last pass over the row computes from.
TEST(CpuGraph, WhatIsOverwrittenIsReadBefore) {
  expect_agrees(R"(
module "state" {
  state @s: f32[40] = normal(1.0)
  graph @forward(%x: f32[40]) -> (y) {
    %a = mul @s, 0.9
    %n = add %a, %x
    %t = tanh %n
    %p = softmax %n
    %y = mul %t, %p
    update @s = %n
    return %y
  }
}
)");
}

// LLVM folds abs(x) > 0, or x is NaN, to x > 0.
TEST(CpuGraph, MaximumOfAbsAndZero) {
  expect_agrees(R"(
graph @forward(%x: f32[37]) -> (y, z) {
  %a = abs %x
  %y = maximum %a, 0.0
  %z = softplus %a
  return %y, %z
}
)");
}

// A run on the CPU with every access checked, or only those that data decides.
Status run_on_cpu(const Module& module, const TensorMap& inputs, const DimBinding& dims,
                  bool bounds_checks) {
  CompileRequest request;
  request.bounds_checks = bounds_checks;
  WEFT_TRY(Compiled compiled, compile(module, request));
  WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), {}));
  WEFT_TRY(OracleResult result, run_once(executor, module.graphs[0], inputs, {}, dims));
  return ok();
}

Tensor index_of(int64_t value) {
  Tensor tensor = Tensor::zeros(DType::i32, {});
  tensor.integers[0] = value;
  return tensor;
}

// The table is computed, so no load of it checks the index: the coordinate itself does.
TEST(CpuGraph, IndexIntoWhatIsComputedIsChecked) {
  const Module module = must_parse(R"(
graph @forward(%i: i32[]) -> (y) {
  %table = iota {shape = [7], dtype = f32}
  %y = gather %table, %i
  return %y
}
)");
  for (bool bounds_checks : {false, true}) {
    EXPECT_TRUE(run_on_cpu(module, {{"i", index_of(6)}}, {}, bounds_checks).ok());
    for (int64_t bad : {-1, 7}) {
      Status status = run_on_cpu(module, {{"i", index_of(bad)}}, {}, bounds_checks);
      ASSERT_FALSE(status.ok()) << bad;
      EXPECT_THAT(render(status.diagnostics()), HasSubstr("index out of range"));
    }
  }
}

// Graphs with a start or an index %i that is 9, and sizes N.
constexpr const char* kIndexed[] = {
    R"(
graph @slice(%i: i32[], %x: f32[3, N]) -> (y) {
  %y = dynamic_slice %x, %i {axis = 0, size = 1}
  return %y
}
)",
    R"(
graph @sum_of_slice(%i: i32[], %x: f32[3, N]) -> (y) {
  %s = dynamic_slice %x, %i {axis = 0, size = 2}
  %y = sum %s {axes = [1]}
  return %y
}
)",
    R"(
graph @sum_of_rows(%i: i32[], %x: f32[3, N]) -> (y) {
  %j = broadcast %i {shape = [5]}
  %s = gather %x, %j
  %e = exp %s
  %y = sum %e {axes = [1]}
  return %y
}
)",
    R"(
graph @sum_of_wide(%i: i32[], %x: f32[3, N]) -> (y) {
  %j = broadcast %i {shape = [5]}
  %column = iota {shape = [3], dtype = f32}
  %c = reshape %column {shape = [3, 1]}
  %table = broadcast %c {shape = [3, N]}
  %s = gather %table, %j
  %y = sum %s {axes = [1]}
  return %y
}
)",
    R"(
graph @update(%i: i32[], %x: f32[3, N]) -> (y) {
  %zeros = constant {value = 0.0, dtype = f32, shape = [3, 4]}
  %y = update_slice %zeros, %x, %i {axis = 1}
  return %y
}
)",
    R"(
graph @scatter(%i: i32[], %x: f32[3, N]) -> (y) {
  %j = broadcast %i {shape = [3]}
  %zeros = constant {value = 0.0, dtype = f32, shape = [3, N]}
  %y = scatter_add %zeros, %j, %x
  return %y
}
)",
};

class CpuIndex : public testing::TestWithParam<const char*> {};

// The CPU and the oracle fail together, and not for an index that nothing is read or written with.
TEST_P(CpuIndex, OfNothingMayBeAny) {
  const Module module = must_parse(GetParam());
  for (int64_t n : {0, 2}) {
    const DimBinding dims = {{"N", n}};
    const TensorMap inputs = {{"i", index_of(9)}, {"x", Tensor::zeros(DType::f32, {3, n})}};
    Result<OracleResult> expected = run_oracle(module, module.graphs[0], inputs, {}, dims);
    EXPECT_EQ(expected.ok(), n == 0) << render(expected.diagnostics());
    for (bool bounds_checks : {false, true}) {
      Status got = run_on_cpu(module, inputs, dims, bounds_checks);
      EXPECT_EQ(got.ok(), n == 0) << render(got.diagnostics());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, CpuIndex, testing::ValuesIn(kIndexed));

}  // namespace
}  // namespace weft
