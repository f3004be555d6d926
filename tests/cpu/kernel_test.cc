// Tile programs as code: what no graph gets from today's lowering, and borders of what follows a
// product.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "backends/cpu/compile.h"
#include "ir/tile/text.h"
#include "runtime/cpu/code.h"
#include "runtime/cpu/math_table.h"
#include "tests/support/suite.h"

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
  const auto bytes = static_cast<size_t>(kernel.scratch_bytes.constant());
  std::vector<std::byte> scratch(bytes + kScratchAlignment, std::byte{0xff});  // NaN
  void* aligned = scratch.data();
  size_t room = scratch.size();
  ASSERT_NE(std::align(kScratchAlignment, bytes, aligned, room), nullptr);
  KernelEnv env;
  env.scratch = static_cast<std::byte*>(aligned);
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

// A product with what may follow it: bias, residual and mask element by element, sums and extremes
// over the rows of a tile, and something computed from those. Small whole numbers, so that every
// order of additions gives the same.
struct AfterProduct {
  int64_t m, n, k, tiles;
  std::vector<float> x, w, bias, rest;
  std::vector<uint8_t> mask;

  AfterProduct(int64_t rows, int64_t columns, int64_t depth)
      : m(rows), n(columns), k(depth), tiles((rows + kRows - 1) / kRows) {
    auto fill = [](auto& numbers, int64_t count, int64_t modulus) {
      for (int64_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<std::decay_t<decltype(numbers)>::value_type>(i % modulus));
      }
    };
    fill(x, m * k, 5);
    fill(w, k * n, 3);
    fill(bias, n, 7);
    fill(rest, m * n, 11);
    fill(mask, m * n, 2);
  }

  static constexpr int64_t kRows = 12;  // of a tile

  std::string text() const {
    return cat("kernel @k {\n  in %x: f32[", m, ", ", k, "]\n  in %w: f32[", k, ", ", n,
               "]\n  in %bias: f32[", n, "]\n  in %rest: f32[", m, ", ", n, "]\n  in %mask: bool[",
               m, ", ", n, "]\n  out %y: f32[", m, ", ", n, "]\n  out %sum: f32[", tiles, ", ", n,
               "]\n  out %most: f32[", tiles, ", ", n, "]\n  order BM = ", kRows,
               "\n  free BN = 64\n  free BK = 512\n  axis m: ", m, " by BM\n  axis n: ", n,
               " by BN\n  axis k: ", k, R"( by BK
  grid n, m
  %s = loop k carry %c = 0.0 : f32[m, n] {
    yield dot[k](load %x[m, k], load %w[k, n], %c)
  }
  %t = select(load %mask[m, n], %s + load %bias[n], 1.0) : f32[m, n]
  store %y[m, n], %t + load %rest[m, n]
  store %sum[m.program, n], reduce.add[m](%t) * 2.0
  store %most[m.program, n], reduce.max[m](%s)
}
)");
  }

  void expect_right(const std::vector<float>& y, const std::vector<float>& sum,
                    const std::vector<float>& most) const {
    std::vector<float> sums(sum.size());
    std::vector<float> extremes(most.size(), -INFINITY);
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t row = i / n, column = i % n;
      float s = 0;
      for (int64_t j = 0; j < k; ++j) s += x[row * k + j] * w[j * n + column];
      const float t = mask[i] != 0 ? s + bias[column] : 1;
      EXPECT_EQ(y[i], t + rest[i]) << row << ", " << column;
      const int64_t part = row / kRows * n + column;
      sums[part] += 2 * t;
      extremes[part] = std::max(extremes[part], s);
    }
    EXPECT_EQ(sum, sums);
    EXPECT_EQ(most, extremes);
  }
};

TEST(CpuKernel, WhatFollowsAProductIsRightAtEveryBorder) {
  size_t turn = 0;
  for (int64_t m : {6, 12, 31}) {
    for (int64_t n : {5, 16, 64, 83}) {
      for (int64_t k : {0, 1, 700}) {
        if (left_out(turn++, 5)) continue;
        SCOPED_TRACE(cat(m, " x ", n, " x ", k));
        AfterProduct c(m, n, k);
        std::vector<float> y(m * n), sum(c.tiles * n), most(c.tiles * n);
        run(c.text(), {c.x.data(), c.w.data(), c.bias.data(), c.rest.data(), c.mask.data(),
                       y.data(), sum.data(), most.data()});
        c.expect_right(y, sum, most);
      }
    }
  }
}

}  // namespace
}  // namespace weft::cpu
