// Products of one kernel, one after the other: they share tiles in workgroup memory, and each is
// stored before the next one begins.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/compile.h"
#include "ir/tile/text.h"
#include "tests/vulkan/kernels.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

using testing::HasSubstr;

// Q, K and V of one input: all products, then all stores, as lowering writes them.
std::string three_products(const std::string& dtype) {
  std::string text = "kernel @qkv {\n  in %x: " + dtype + "[M, 512]\n";
  std::string loops, stores;
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    text += "  in %w" + n + ": " + dtype + "[512, 256]\n  out %y" + n + ": " + dtype + "[M, 256]\n";
    loops += "  %p" + n + " = loop k carry %c" + n + " = 0.0 : " + dtype +
             "[m, n] {\n    yield dot[k](load %x[m, k], load %w" + n + "[k, n], %c" + n +
             ")\n  }\n";
    stores += "  store %y" + n + "[m, n], %p" + n + "\n";
  }
  return text + "  free BM = 64\n  free BN = 64\n  free BK = 64\n  axis m: M by BM\n" +
         "  axis n: 256 by BN\n  axis k: 512 by BK\n  grid m, n\n" + loops + stores + "}\n";
}

std::string glsl_of(const std::string& text, const simt::Profile& profile) {
  std::vector<tile::Program> programs = {tile::parse("kernel.tile", text).value()};
  const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(programs[0].buffers.size())};
  return vulkan::compile_programs(programs, facts, {profile}, true).value().texts[0].glsl;
}

// Of 32 KiB one product takes 25.6.
TEST(FusedProducts, TilesOfAllLieInTheSamePlace) {
  const std::string text = glsl_of(three_products("f32"), workgroup_profile());
  EXPECT_THAT(text, HasSubstr("// m = [lane 4, wave 4, reg 8]"));
  EXPECT_THAT(text, HasSubstr("shared vec4 tile_left[1056];"));
  EXPECT_THAT(text, HasSubstr("shared vec4 tile_right[544];"));
  EXPECT_EQ(text.find("shared ", text.find("tile_right[544];")), std::string::npos);
}

// Everyone is done with a product's tiles before the next one's are written.
TEST(FusedProducts, ABarrierStandsBetweenTheirTiles) {
  for (const char* dtype : {"f32", "f16"}) {
    simt::Profile profile = workgroup_profile();
    profile.matrix = {16, 16, 16};
    const std::string all = glsl_of(three_products(dtype), profile);
    const std::string text = all.substr(all.find("void main"));
    int products = 0;
    bool reads = false, product = false;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const size_t tile = line.find("tile_left[");
      const bool writes = tile != std::string::npos && tile == line.find_first_not_of(' ');
      const bool loads = line.find("MATRIX_LOAD_A") != std::string::npos;
      if (line.find("barrier();") != std::string::npos) reads = false;
      if (line.find("int now") != std::string::npos) ++products, product = false;
      if (!writes && (tile != std::string::npos || loads)) reads = product = true;
      // Of the first step; what a step puts into the other half goes on while this one is read.
      EXPECT_FALSE(writes && !product && reads) << dtype << ", product " << products;
    }
    EXPECT_EQ(products, 3);
  }
}

TEST(FusedProducts, EachIsStoredBeforeTheNext) {
  for (const bool workgroup : {false, true}) {
    const std::string all =
        glsl_of(three_products("f32"), workgroup ? workgroup_profile() : simt::Profile());
    const std::string text = all.substr(all.find("void main"));
    for (int i = 0; i < 2; ++i) {
      const std::string store = "store_b" + std::to_string(i * 2 + 2) + "_y" + std::to_string(i);
      const std::string load = "load_b" + std::to_string(i * 2 + 3) + "_w" + std::to_string(i + 1);
      ASSERT_NE(text.rfind(store), std::string::npos) << text;
      ASSERT_NE(text.find(load), std::string::npos);
      EXPECT_LT(text.rfind(store), text.find(load)) << "product " << i;
    }
  }
}

TEST(FusedProducts, AgreeWithTheOracle) {
  ask_for_validation();
  if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  const Module module = parse("products.weft",
                              "param @q: f32[96, 80] = normal(1)\n"
                              "param @k: f32[96, 80] = normal(1)\n"
                              "param @v: f32[96, 80] = normal(1)\n"
                              "param @b: f32[80] = normal(1)\n"
                              "graph @g(%x: f32[M, 96]) -> (s, t, u) {\n"
                              "  %q = matmul %x, @q\n  %s = add %q, @b\n"
                              "  %k = matmul %x, @k\n  %t = tanh %k\n"
                              "  %u = matmul %x, @v\n"
                              "  return %s, %t, %u\n}\n")
                            .value();
  CompileRequest request;
  request.device = "vulkan";
  request.form.mapping = simt::Mapping::workgroup;
  request.keep_text = true;
  const Result<Compiled> made = compile(module, request);
  ASSERT_TRUE(made.ok()) << render(made.diagnostics());
  ASSERT_EQ(made->texts.size(), 1U) << "the products are not in one kernel";
  std::string glsl;
  for (const auto& [ending, text] : made->texts[0].files) glsl += ending == "comp" ? text : "";
  EXPECT_THAT(glsl, HasSubstr("tile_left"));
  for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
    expect_agrees(module, {{"M", 150}}, 1, mapping);
  }
}

}  // namespace
}  // namespace weft
