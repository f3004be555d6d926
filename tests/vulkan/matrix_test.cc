// Products on matrix units: which kernels use them, what their words are, and, with fragments
// spelled as loops, that they compute the right numbers on a device that has none.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <spirv-tools/libspirv.hpp>

#include "backends/vulkan/compile.h"
#include "backends/vulkan/spirv.h"
#include "driver/verify_device.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "ir/tile/text.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/khr_matrices.h"
#include "runtime/vulkan/probes.h"
#include "runtime/vulkan/self_test.h"
#include "spv/matrix_loops.h"
#include "test_paths.h"
#include "tests/vulkan/kernels.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string product() { return product_kernel("f16", /*bias=*/true); }

// A discrete GPU as they are today.
VulkanFacts gpu(uint32_t subgroup, std::vector<VulkanMatrix> matrices) {
  VulkanFacts facts;
  facts.kind = "discrete";
  facts.subgroup = facts.min_subgroup = facts.max_subgroup = subgroup;
  facts.max_workgroup = 1024;
  facts.shared_bytes = 49152;
  for (const char* name : {"subgroup_shuffle", "float16", "storage16", "int16", "storage8", "int8",
                           "int64", "subgroup_size_control", "cooperative_matrix"}) {
    facts.features.push_back({name, true});
  }
  for (const VulkanMatrix& matrix : matrices) {
    facts.features.push_back({matrix_feature(matrix), true});
  }
  facts.matrices = std::move(matrices);
  return facts;
}

vulkan::CompiledPrograms compiled(const std::string& text, const simt::Profile& profile) {
  std::vector<tile::Program> programs = {tile::parse("kernel.tile", text).value()};
  const vulkan::ProgramFacts facts = {std::vector<vulkan::BufferFacts>(programs[0].buffers.size())};
  return vulkan::compile_programs(programs, facts, {profile}, true).value();
}

std::string glsl_of(const std::string& text, const simt::Profile& profile) {
  return compiled(text, profile).texts[0].glsl;
}

TEST(Matrices, AKernelReadsAsItShould) {
  const std::string path = WEFT_SOURCE_DIR "/tests/vulkan/golden/product_f16.glsl";
  const std::string text = glsl_of(product(), vulkan::profile_of(gpu(32, {{16, 16, 16}}), {}));
  if (std::getenv("WEFT_UPDATE") != nullptr) {
    ASSERT_TRUE(write_file(path, text).ok());
  }
  EXPECT_EQ(text, read_file(path, 1 << 20).value());
}

TEST(Matrices, AKernelSaysWhatItNeeds) {
  const vulkan::CompiledPrograms made =
      compiled(product(), vulkan::profile_of(gpu(32, {{16, 16, 16}}), {}));
  const Kernel& kernel = made.kernels[0];
  EXPECT_THAT(kernel.needs,
              testing::IsSupersetOf({std::string("float16"), std::string("cooperative_matrix"),
                                     std::string("cooperative_matrix_16x16x16")}));
  EXPECT_EQ(kernel.subgroup, 32u);
  EXPECT_EQ(kernel.workgroup, 128u);
}

TEST(Matrices, TheDeviceDecidesUnlessTheFormDoes) {
  const VulkanFacts device = gpu(32, {{16, 8, 8}, {16, 16, 16}, {8, 32, 16}});
  const std::string uses = "MATRIX_MUL_ADD";
  EXPECT_THAT(glsl_of(product(), vulkan::profile_of(device, {})), HasSubstr("[lane 16, wave 4,"));
  EXPECT_THAT(glsl_of(product(), vulkan::profile_of(device, {.matrices = simt::Matrices::none})),
              Not(HasSubstr(uses)));
  VulkanFacts refused = device;
  for (VulkanFeature& feature : refused.features) {
    if (feature.name == "cooperative_matrix") feature.refused = "its self-test gave 2 instead of 1";
  }
  EXPECT_THAT(glsl_of(product(), vulkan::profile_of(refused, {})), Not(HasSubstr(uses)));
  // A size that failed is not used, the others are.
  refused = device;
  for (VulkanFeature& feature : refused.features) {
    if (feature.name == "cooperative_matrix_16x16x16") feature.refused = "wrong";
  }
  EXPECT_EQ(vulkan::profile_of(refused, {}).matrix.n, 32);
}

TEST(Matrices, OnlyNumbersOfHalfPrecision) {
  const simt::Profile profile = vulkan::profile_of(gpu(32, {{16, 16, 16}}), {});
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = product();
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return glsl_of(text, profile);
  };
  const std::string uses = "MATRIX_MUL_ADD";
  EXPECT_THAT(with("f16", "f32"), Not(HasSubstr(uses)));
  EXPECT_THAT(with("f16", "bf16"), Not(HasSubstr(uses)));
  // A sum of two is not rounded; what is rounded may be any number.
  EXPECT_THAT(with("dot[k](load %x[m, k]", "dot[k](load %x[m, k] + load %x[m, k]"),
              Not(HasSubstr(uses)));
  EXPECT_THAT(with("dot[k](load %x[m, k]", "dot[k](cast.f16(load %x[m, k] + load %x[m, k])"),
              HasSubstr(uses));
  EXPECT_THAT(with("dot[k](load %x[m, k]", "dot[k](maximum(load %x[m, k], 0.0)"), HasSubstr(uses));
}

TEST(Matrices, LanesHoldWhatTheirFragmentsDo) {
  const std::string wide = glsl_of(product(), vulkan::profile_of(gpu(64, {{16, 16, 16}}), {}));
  EXPECT_THAT(wide, HasSubstr("// m = [lane 16, wave 2, reg 2, fragment 16]"));
  const std::string small = glsl_of(product(), vulkan::profile_of(gpu(16, {{8, 16, 16}}), {}));
  EXPECT_THAT(small, HasSubstr("// m = [lane 8, wave 8, reg 2, fragment 8]"));
  // Subgroups that are smaller than a fragment has rows.
  EXPECT_THAT(glsl_of(product(), vulkan::profile_of(gpu(8, {{16, 16, 16}}), {})),
              Not(HasSubstr("MATRIX_MUL_ADD")));
}

// ---- words

using Words = std::vector<uint32_t>;

std::map<uint32_t, std::vector<Words>> by_op(const Words& words) {
  std::map<uint32_t, std::vector<Words>> result;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const auto first = words.begin() + static_cast<ptrdiff_t>(at);
    result[words[at] & 0xffff].emplace_back(first, first + (words[at] >> 16));
  }
  return result;
}

bool is_valid(const Words& words, std::string& why) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                               const char* message) { why += message; });
  return tools.Validate(words);
}

// spirv-val of 2023 knows the words that glslang writes, and not those of KHR.
TEST(Matrices, WordsAreThoseOfKhr) {
  const simt::Profile profile = vulkan::profile_of(gpu(32, {{16, 8, 32}}), {});
  const vulkan::CompiledPrograms made = compiled(product(), profile);
  const Words before = vulkan::compile_glsl("product", made.texts[0].glsl).value();
  std::string why;
  EXPECT_TRUE(is_valid(before, why)) << why;
  const Words& after = made.texts[0].spirv;
  auto old = by_op(before);
  auto ops = by_op(after);
  for (uint32_t nv : {5358u, 5359u, 5360u, 5361u, 5362u}) EXPECT_FALSE(ops.contains(nv)) << nv;
  EXPECT_EQ(ops[4457].size(), old[5359].size());
  EXPECT_EQ(ops[4458].size(), old[5360].size());
  EXPECT_EQ(ops[4459].size(), old[5361].size());
  EXPECT_EQ(after[3], before[3] + 3);
  EXPECT_THAT(ops[17], testing::Contains(Words{2 << 16 | 17, 6022}));
  EXPECT_THAT(ops[17], testing::Contains(Words{2 << 16 | 17, 5345}));  // Vulkan's memory model
  EXPECT_THAT(ops[17], Not(testing::Contains(Words{2 << 16 | 17, 5357})));
  std::map<uint32_t, uint32_t> constants;
  for (uint32_t op : {43u, 50u}) {
    for (const Words& w : ops[op]) constants[w[2]] = w[3];
  }
  // Rows, columns and use of the three types.
  std::map<uint32_t, std::vector<uint32_t>> types;
  for (const Words& w : ops[4456]) {
    ASSERT_EQ(w.size(), 7u);
    types[w[1]] = {constants.at(w[4]), constants.at(w[5]), constants.at(w[6])};
  }
  std::vector<std::vector<uint32_t>> sizes;
  for (const auto& [id, type] : types) sizes.push_back(type);
  EXPECT_THAT(sizes, testing::UnorderedElementsAre(testing::ElementsAre(16, 32, 0),
                                                   testing::ElementsAre(32, 8, 1),
                                                   testing::ElementsAre(16, 8, 2)));
  // The left side lies column by column, the right one row by row.
  for (const Words& w : ops[4457]) {
    EXPECT_EQ(constants.at(w[4]), types.at(w[1])[2] == 0 ? 1u : 0u);
    EXPECT_GT(constants.at(w[5]), 8u);  // stride
  }
  for (const Words& w : ops[4458]) EXPECT_EQ(constants.at(w[3]), 0u);
}

TEST(Matrices, OtherModulesStayAsTheyAre) {
  const Words loops(matrix_loops_spv, matrix_loops_spv + std::size(matrix_loops_spv));
  EXPECT_EQ(khr_matrices(loops), loops);
}

TEST(Matrices, AProbeTakesAnySize) {
  for (const Probe& probe : vulkan_probes()) {
    if (probe.feature != "cooperative_matrix") continue;
    const Words words = with_matrix_sizes(probe.words, 8, 32, 16);
    std::string why;
    EXPECT_TRUE(is_valid(words, why)) << why;
    auto ops = by_op(khr_matrices(words));
    std::map<uint32_t, uint32_t> constants;
    for (const Words& w : ops[50]) constants[w[2]] = w[3];
    std::vector<std::vector<uint32_t>> sizes;
    for (const Words& w : ops[4456]) sizes.push_back({constants.at(w[4]), constants.at(w[5])});
    EXPECT_THAT(sizes, testing::UnorderedElementsAre(testing::ElementsAre(8, 16),
                                                     testing::ElementsAre(16, 32),
                                                     testing::ElementsAre(8, 32)));
  }
}

TEST(Matrices, OnlyHalvesAddedToFloatsBySubgroups) {
  const MatrixProperties good{.m = 16, .n = 8, .k = 16, .c = 1, .result = 1, .scope = 3};
  MatrixProperties half = good, by_workgroup = good, saturating = good;
  half.c = half.result = 0;
  by_workgroup.scope = 2;
  saturating.saturates = VK_TRUE;
  const std::vector<VulkanMatrix> found = usable_matrices({half, by_workgroup, good, saturating});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(matrix_feature(found[0]), "cooperative_matrix_16x8x16");
}

// ---- numbers

// What the probe of matrix units expects is what a product gives.
TEST(Matrices, TheProbeExpectsTheRightNumbers) {
  const std::shared_ptr<VulkanDevice> device = shared_vulkan_device();
  if (device == nullptr || !facts_of(*device).has("float16")) GTEST_SKIP() << "no f16 on a device";
  for (const Probe& probe : vulkan_probes()) {
    if (probe.feature != "cooperative_matrix") continue;
    for (const auto& [m, n, k] : {std::tuple(16u, 16u, 16u), std::tuple(8u, 32u, 16u)}) {
      Probe loops = probe;
      const Words words = with_matrix_sizes(matrix_loops_spv, m, n, k);
      loops.feature = "float16";  // all that it needs
      loops.words = words;
      EXPECT_EQ(verdict_of(loops, device).value(), "") << m << " " << n << " " << k;
    }
  }
}

struct ProductCase {
  const char* name;
  const char* graph;
  DimBinding dims;
};

const ProductCase kProducts[] = {
    {"no multiples, a bias and an activation after it",
     "graph @g(%x: f16[M, 45], %w: f16[45, 70], %b: f16[70]) -> (y) {\n"
     "  %p = matmul %x, %w\n  %s = add %p, %b\n  %y = tanh %s\n  return %y\n}\n",
     {{"M", 77}}},
    {"rounded from f32, the right side turned",
     "graph @g(%x: f32[100, 96], %w: f32[72, 96]) -> (y) {\n"
     "  %xh = cast %x {dtype = f16}\n  %wh = cast %w {dtype = f16}\n"
     "  %t = transpose %wh {perm = [1, 0]}\n  %p = matmul %xh, %t\n"
     "  %y = cast %p {dtype = f32}\n  return %y\n}\n",
     {}},
    {"a sum as long as it likes, in batches",
     "graph @g(%x: f16[3, 40, K], %w: f16[3, K, 64]) -> (y) {\n"
     "  %y = matmul %x, %w\n  return %y\n}\n",
     {{"K", 101}}},
    {"whole tiles",
     "graph @g(%x: f16[128, 64], %w: f16[64, 128]) -> (y) {\n"
     "  %y = matmul %x, %w\n  return %y\n}\n",
     {}},
    {"a gradient of weights",
     "graph @g(%x: f16[T, 64], %d: f16[T, 80]) -> (y) {\n"
     "  %t = transpose %x {perm = [1, 0]}\n  %y = matmul %t, %d\n  return %y\n}\n",
     {{"T", 90}}},
};

// The same layouts, tiles, barriers and stores as on matrix units.
TEST(Matrices, SpelledAsLoopsTheyAgreeWithTheOracle) {
  ask_for_validation();
  const std::shared_ptr<VulkanDevice> device = shared_vulkan_device();
  if (device == nullptr || !facts_of(*device).has("float16")) GTEST_SKIP() << "no f16 on a device";
  const size_t count = suite() == "quick" ? 1 : suite() == "slow" ? std::size(kProducts) : 3;
  for (const ProductCase& c : std::span(kProducts).first(count)) {
    SCOPED_TRACE(c.name);
    Result<Module> module = parse("product.weft", c.graph);
    ASSERT_TRUE(module.ok()) << render(module.diagnostics());
    DeviceVerifyOptions options;
    options.common.dims = c.dims;
    options.request.device = "vulkan";
    options.request.form = {simt::Mapping::workgroup, simt::Matrices::as_loops};
    options.request.keep_text = true;
    const Result<Compiled> made = compile(*module, options.request);
    ASSERT_TRUE(made.ok()) << render(made.diagnostics());
    int fragments = 0;
    for (const KernelDump& kernel : made->texts) {
      for (const auto& [ending, text] : kernel.files) {
        fragments += ending == "comp" && text.find("MATRIX_STORE_C(fragment") != std::string::npos;
      }
    }
    EXPECT_GT(fragments, 0) << "no kernel has fragments";
    const Result<DeviceVerifyReport> report = verify_device(*module, options);
    ASSERT_TRUE(report.ok()) << render(report.diagnostics());
    EXPECT_EQ(report->difference, "");
  }
}

}  // namespace
}  // namespace weft
