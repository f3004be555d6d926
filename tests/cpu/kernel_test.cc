// Tile programs as code, where no graph gets them from today's lowering.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/compile.h"
#include "ir/tile/text.h"
#include "runtime/cpu/code.h"
#include "runtime/cpu/math_table.h"

namespace weft::cpu {
namespace {

using testing::ElementsAre;

// Runs all programs of a kernel whose sizes are numbers.
void run(const std::string& text, std::vector<void*> buffers) {
  const Result<tile::Program> program = tile::parse("kernel.tile", text);
  ASSERT_TRUE(program.ok()) << render(program.diagnostics());
  const CpuTarget target = resolve_cpu_target("native", TargetUse::kRun).value();
  const CompiledPrograms compiled = compile_programs({*program}, target, {}).value();
  const Kernel& kernel = compiled.kernels[0];
  ASSERT_TRUE(kernel.args.empty());
  alignas(kScratchAlignment) std::byte scratch[1024];
  ASSERT_LE(kernel.scratch_bytes.constant(), int64_t{sizeof(scratch)});
  KernelEnv env;
  env.scratch = scratch;
  env.math = &math_table();
  const LoadedCode loaded = LoadedCode::load(compiled.code).value();
  loaded.at(kernel.entry)(buffers.data(), nullptr, 0, kernel.programs.constant(), &env);
  EXPECT_EQ(env.failed.check, 0);
}

// Two rows at once: the second loop nest needs what the first overwrites.
TEST(CpuKernel, WhatAnotherNestOverwritesIsKept) {
  float n[] = {1, 2, 3, 4};
  float x[] = {1, 10, 1, 10, 1, 10, 1, 10};
  float y[8] = {};
  run(R"(kernel @k {
  inout %n: f32[4]
  in %x: f32[4, 2]
  out %y: f32[4, 2]
  free BR = 2
  axis r: 4 by BR
  axis c: 2 full
  grid r
  %v = load %n[r] * 2.0 : f32[r]
  store %n[r], %v
  store %y[r, c], %v * load %x[r, c]
}
)",
      {n, x, y});
  EXPECT_THAT(n, ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(y, ElementsAre(2, 20, 4, 40, 6, 60, 8, 80));
}

}  // namespace
}  // namespace weft::cpu
