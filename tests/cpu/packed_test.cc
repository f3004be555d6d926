// Weights that are packed once: what runs, what it does to memory, and what it must not change.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>

#include "driver/compile.h"
#include "driver/execute.h"
#include "passes/pack_weights.h"
#include "passes/sample_inputs.h"
#include "runtime/executable_file.h"
#include "tests/support/must_parse.h"

namespace weft {
namespace {

using test::must_parse;

// A product, a transposed one whose weights are an embedding too, and one with a rest of a panel.
constexpr const char* kModel = R"(
module "m" {
  param @up: f32[96, 160] = normal(0.1)
  param @embedding: f32[90, 96] = normal(0.1)
  param @down: f32[160, 70] = normal(0.1)
  graph @forward(%i: i32[N]) -> (logits, small) {
    %x = gather @embedding, %i
    %a = matmul %x, @up
    %h = relu %a
    %small = matmul %h, @down
    %t = transpose @embedding {perm = [1, 0]}
    %logits = matmul %x, %t
    return %logits, %small
  }
}
)";

Executable compiled(bool packs, const std::string& target = "native") {
  CompileRequest request;
  request.target_cpu = target;
  if (!packs) request.pipeline.skip = {std::string(kPackWeights)};
  Result<Compiled> result = compile(must_parse(kModel), request);
  EXPECT_TRUE(result.ok()) << render(result.diagnostics());
  EXPECT_EQ(result->executable.packed.size(), packs ? 3u : 0u);
  return std::move(result->executable);
}

Executor executor(Executable executable, int threads = 2) {
  ContextOptions options;
  options.threads = threads;
  return Executor::create(std::move(executable), options).value();
}

TensorMap run(Executor& on, int64_t rows) {
  const Module module = must_parse(kModel);
  const TensorMap inputs = sample_inputs(module, module.graphs[0], {{"N", rows}}, 1).value();
  PreparedRun prepared = on.prepare("forward", inputs, {{"N", rows}}).value();
  EXPECT_TRUE(on.run(prepared).ok());
  return on.outputs(prepared);
}

void expect_equal(const TensorMap& a, const TensorMap& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_EQ(tensor.reals, b.at(name).reals) << name;
}

TEST(Packed, TheSameBitsAsWithout) {
  for (const char* target : {"native", "generic"}) {
    Executor plain = executor(compiled(false, target));
    Executor packed = executor(compiled(true, target));
    Executor single = executor(compiled(true, target), 1);
    for (int64_t rows : {1, 5, 48, 200}) {
      SCOPED_TRACE(cat(target, " ", rows));
      const TensorMap expected = run(plain, rows);
      expect_equal(run(packed, rows), expected);
      expect_equal(run(single, rows), expected);
    }
  }
}

TEST(Packed, NewValuesArePackedAgain) {
  Executor plain = executor(compiled(false));
  Executor packed = executor(compiled(true));
  expect_equal(run(packed, 9), run(plain, 9));
  const Tensor down = packed.storage("down").value();
  TensorMap changed = {{"down", down}};
  for (double& number : changed.at("down").reals) number = round_to(DType::f32, number * -2);
  for (Executor* on : {&plain, &packed}) ASSERT_TRUE(on->set_storage(changed).ok());
  expect_equal(run(packed, 9), run(plain, 9));
  for (Executor* on : {&plain, &packed}) on->context().reset_storage(7);
  expect_equal(run(packed, 9), run(plain, 9));
}

TEST(Packed, ParametersCanBeReadAtAnyTime) {
  Executor plain = executor(compiled(false));
  Executor packed = executor(compiled(true));
  for (int i = 0; i < 2; ++i) {
    run(packed, 9);
    for (const char* name : {"up", "down", "embedding"}) {
      EXPECT_EQ(packed.storage(name)->reals, plain.storage(name)->reals) << name;
    }
    expect_equal(run(packed, 9), run(plain, 9));
  }
}

// Beside the embedding, which is also gathered from, there is a copy; the others are replaced.
TEST(Packed, MemoryIsGivenBack) {
  Executor packed = executor(compiled(true));
  EXPECT_EQ(packed.context().report().packed_bytes, 0);
  run(packed, 9);
  const int64_t bytes = packed.context().report().packed_bytes;
  EXPECT_GE(bytes, 96 * 90 * 4);
  EXPECT_LT(bytes, 96 * 90 * 4 + (96 * 160 + 160 * 70) * 4);
  ASSERT_TRUE(packed.storage("up").ok());
  EXPECT_EQ(packed.context().report().packed_bytes, bytes + 96 * 160 * 4);
}

TEST(Packed, ThroughAFile) {
  Executor plain = executor(compiled(false));
  const std::string bytes = write_executable(compiled(true));
  Result<Executable> read = read_executable("m.weftx", bytes);
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  Executor packed = executor(*std::move(read));
  expect_equal(run(packed, 33), run(plain, 33));
}

TEST(Packed, WithEveryAccessChecked) {
  CompileRequest request;
  request.bounds_checks = true;
  Result<Compiled> checked = compile(must_parse(kModel), request);
  ASSERT_TRUE(checked.ok());
  Executor on = executor(std::move(checked->executable));
  Executor plain = executor(compiled(false));
  EXPECT_EQ(run(on, 9).size(), run(plain, 9).size());
}

}  // namespace
}  // namespace weft
