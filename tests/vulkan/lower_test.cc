// What the code of single kernels has to say.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "backends/vulkan/compile.h"
#include "ir/tile/text.h"
#include "tests/vulkan/kernels.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string glsl_of(const std::string& text, const simt::Profile& profile = {}) {
  std::vector<tile::Program> programs = {tile::parse("kernel.tile", text).value()};
  const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(programs[0].buffers.size())};
  return vulkan::compile_programs(programs, facts, {profile}, true).value().texts[0].glsl;
}

// Instructions in the SPIR-V of a kernel: those of a kind, with this word after it if one is given.
size_t instructions(const std::string& text, uint32_t kind, std::optional<uint32_t> operand = {}) {
  std::vector<tile::Program> programs = {tile::parse("kernel.tile", text).value()};
  const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(programs[0].buffers.size())};
  const auto made = vulkan::compile_programs(programs, facts, {}, true).value();
  const std::vector<uint32_t>& words = made.texts[0].spirv;
  constexpr size_t kHeader = 5;
  size_t found = 0;
  for (size_t at = kHeader; at < words.size(); at += words[at] >> 16) {
    const bool same = (words[at] & 0xffff) == kind;
    found += same && (!operand || words[at + 1] == *operand) ? 1 : 0;
  }
  return found;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// All invocations read %n, one of them writes it.
TEST(SimtLowering, WhatOthersReadIsWrittenBehindABarrier) {
  const std::string body = R"(
  in %x: f32[256]
  axis c: 256 full
  %v = load %n[] + reduce.add[c](load %x[c]) : f32[]
  store %n[], %v
}
)";
  EXPECT_THAT(glsl_of("kernel @k {\n  inout %n: f32[]" + body), HasSubstr("barrier();"));
  EXPECT_THAT(glsl_of(R"(kernel @k {
  out %n: f32[]
  in %x: f32[256]
  axis c: 256 full
  store %n[], reduce.add[c](load %x[c])
}
)"),
              Not(HasSubstr("barrier();")));
}

// A row that does not fit in registers is read again by each walk: both stores share one.
TEST(SimtLowering, StoresThatNeedWhatTheFirstOverwritesAreWalkedTogether) {
  const std::string glsl = glsl_of(R"(kernel @k {
  inout %x: f32[N]
  out %y: f32[N]
  axis c: N full
  %v = load %x[c] : f32[c]
  %sum = reduce.add[c](%v) : f32[]
  store %x[c], %v / %sum
  store %y[c], %v * 2.0
}
)");
  // The sum, and the stores after all that they need was read.
  EXPECT_EQ(count(glsl, "for (int at_c_step"), 2u);
  EXPECT_LT(glsl.rfind("= load_b0_x"), glsl.find("  store_b0_x"));
}

// Elementwise work of a driver on the processor: a subgroup walks its part, and no step asks
// whether it exists, as the size is a multiple of one.
TEST(SimtLowering, MapsAreWalkedInSteps) {
  simt::Profile profile;
  profile.map_packs = profile.map_waves = 1;
  profile.map_steps = 64;
  profile.image_stores = 1;
  const std::string text = R"(kernel @map {
  in %x: f32[32 * N]
  out %y: f32[32 * N]
  free BP = 64
  axis p: 32 * N by BP
  grid p
  store %y[p], exp(load %x[p])
}
)";
  const std::string glsl = glsl_of(text, profile);
  EXPECT_THAT(glsl, HasSubstr("layout(local_size_x = 8) in;"));
  EXPECT_THAT(glsl, HasSubstr("// p = [pack 4, lane 8, steps]"));
  EXPECT_THAT(glsl, HasSubstr("free BP = 2048"));
  EXPECT_THAT(glsl, HasSubstr("= min(2048, "));
  EXPECT_THAT(glsl, Not(HasSubstr("if (at_p")));
  EXPECT_THAT(glsl, HasSubstr("b0_x_texel4"));
  EXPECT_THAT(glsl, HasSubstr("b1_y_data4"));
}

// Coordinates beyond the end of a row, NaN, and numbers too small for exp: none is a branch. What
// remains is whether the program and its row exist.
TEST(SimtLowering, ChoicesAreNoBranches) {
  constexpr uint32_t kBranchConditional = 250;
  EXPECT_LE(instructions(R"(kernel @rows {
  in %x: f32[R, 100]
  out %y: f32[R]
  free BR = 4
  axis r: R by BR
  axis c: 100 full
  grid r
  %v = load %x[r, c] : f32[r, c]
  %max = reduce.max[c](%v) : f32[r]
  store %y[r], reduce.add[c](exp(%v - %max))
}
)",
                         kBranchConditional),
            3u);
}

// The second store has to be walked with the first, and the third with the second.
TEST(SimtLowering, StoresOneAfterTheOtherAreWalkedTogether) {
  const std::string glsl = glsl_of(R"(kernel @k {
  inout %a: f32[N]
  inout %b: f32[N]
  out %y: f32[N]
  axis c: N full
  %va = load %a[c] : f32[c]
  %sum = reduce.add[c](%va) : f32[]
  store %a[c], %va / %sum
  %vb = load %b[c] : f32[c]
  store %b[c], %vb + %va
  store %y[c], %vb * 2.0
}
)");
  EXPECT_EQ(count(glsl, "for (int at_c_step"), 2u);
  EXPECT_LT(glsl.rfind("= load_b1_b"), glsl.find("  store_b0_a"));
}

// Many devices have no f64; the optimizer's steps need pow.
// What a quotient is where the divisor is 0 or -1 is chosen as well: SwiftShader took minutes to
// compile a kernel of rows with such branches in it.
TEST(SimtLowering, QuotientsOfIntegersAreNoBranches) {
  constexpr uint32_t kBranchConditional = 250;
  const auto branches = [](const std::string& dtype, const std::string& op) {
    const std::string in = ": " + dtype + "[100]\n";
    return instructions("kernel @map {\n  in %a" + in + "  in %b" + in + "  out %y" + in + R"(
  free BP = 64
  axis p: 100 by BP
  grid p
  store %y[p], )" + op + "(load %a[p], load %b[p])\n}\n",
                        kBranchConditional);
  };
  for (const char* dtype : {"i8", "u8", "i32", "u32", "i64"}) {
    SCOPED_TRACE(dtype);
    EXPECT_EQ(branches(dtype, "mod"), branches(dtype, "minimum"));
    EXPECT_EQ(branches(dtype, "floordiv"), branches(dtype, "minimum"));
  }
}

TEST(SimtLowering, PowNeedsNoF64) {
  constexpr uint32_t kCapability = 17;
  constexpr uint32_t kFloat64 = 10;
  const std::string text = R"(kernel @map {
  in %x: f32[100]
  out %y: f32[100]
  free BP = 64
  axis p: 100 by BP
  grid p
  store %y[p], pow(0.9, load %x[p])
}
)";
  EXPECT_GT(instructions(text, kCapability), 0u);
  EXPECT_EQ(instructions(text, kCapability, kFloat64), 0u);
}

std::string product() { return product_kernel("f32", /*bias=*/false); }

// A GPU with subgroups of 32: both sides through workgroup memory, filled in turns.
TEST(SimtLowering, ProductsOfTheWorkgroupFormReadTiles) {
  const std::string glsl = glsl_of(product(), workgroup_profile());
  EXPECT_THAT(glsl, HasSubstr("layout(local_size_x = 128) in;"));
  EXPECT_THAT(glsl, HasSubstr("// m = [lane 4, wave 4, reg 8]"));
  EXPECT_THAT(glsl, HasSubstr("// n = [pack 4, lane 8, reg 2]"));
  // 16 x (128 + 4) and 16 x (64 + 4) numbers, twice, in fours.
  EXPECT_THAT(glsl, HasSubstr("[1056];"));
  EXPECT_THAT(glsl, HasSubstr("[544];"));
  EXPECT_EQ(count(glsl, "barrier();"), 3u);
}

// The registers of an invocation give way to what there is of workgroup memory.
TEST(SimtLowering, TilesFitInWorkgroupMemory) {
  simt::Profile profile;
  profile.subgroup = 32;
  profile.workgroup = true;
  profile.workgroup_bytes = 16384;
  EXPECT_THAT(glsl_of(product(), profile), HasSubstr("// m = [lane 4, wave 4, reg 2]"));
  profile.workgroup_bytes = 1024;
  EXPECT_THAT(glsl_of(product(), profile), Not(HasSubstr("shared")));
}

// A sum whose length is known when it runs: four coordinates at a time, then the rest.
TEST(SimtLowering, ProductsAskForNoCoordinate) {
  const std::string glsl = glsl_of(R"(kernel @product {
  in %x: f32[K, 64]
  in %w: f32[K, 256]
  out %y: f32[64, 256]
  free BM = 64
  free BN = 64
  free BK = 64
  axis m: 64 by BM
  axis n: 256 by BN
  axis k: K by BK
  grid m, n
  %sum = loop k carry %c = 0.0 : f32[m, n] {
    yield dot[k](load %x[k, m], load %w[k, n], %c)
  }
  store %y[m, n], %sum
}
)");
  EXPECT_THAT(glsl, HasSubstr("// k = [reg 4, steps]"));
  EXPECT_THAT(glsl, HasSubstr("at_k_step + 4 <= "));
  EXPECT_THAT(glsl, HasSubstr("at_k_step + 1 <= "));
  EXPECT_THAT(glsl, Not(HasSubstr("if (at_k")));
}

TEST(SimtLowering, RowsOfTheWorkgroupFormBelongToAWorkgroup) {
  simt::Profile profile;
  profile.subgroup = 32;
  profile.workgroup = true;
  const std::string text = R"(kernel @rows {
  in %x: f32[R, 512]
  out %y: f32[R]
  free BR = 4
  axis r: R by BR
  axis c: 512 full
  grid r
  store %y[r], reduce.add[c](load %x[r, c])
}
)";
  EXPECT_THAT(glsl_of(text, profile), HasSubstr("// c = [pack 4, lane 32, wave 4]"));
  EXPECT_THAT(glsl_of(text), HasSubstr("// c = [pack 4, lane 8, reg 16]"));
}

}  // namespace
}  // namespace weft
