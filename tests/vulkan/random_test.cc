// Random graphs, whole models and spellings of attention on a Vulkan device, against the oracle.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/random_attention.h"
#include "tests/support/random_graph.h"
#include "tests/support/suite.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/shared_device.h"
#include "tests/vulkan/verify.h"

namespace weft {
namespace {

constexpr uint64_t kChunks = 10;  // tests, so that they can run side by side

uint64_t graph_count() { return suite() == "quick" ? 10 : suite() == "slow" ? 1000 : 30; }

// Of a run of hours: how far it is.
void tell(const char* what, uint64_t seed) {
  if (suite() == "slow") std::fprintf(stderr, "%s, seed %d\n", what, static_cast<int>(seed));
}

// Both forms of kernels; by turns, but for the slow suite.
std::vector<simt::Mapping> mappings(uint64_t seed) {
  using enum simt::Mapping;
  if (suite() == "slow") return {registers, workgroup};
  return {seed / kChunks % 2 == 0 ? registers : workgroup};
}

class VulkanRandom : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    if (shared_vulkan_device() == nullptr) GTEST_SKIP() << "no Vulkan device";
  }
  void TearDown() override {
    ::unsetenv("WEFT_VULKAN_LIE");
    ::unsetenv("WEFT_VULKAN_VALIDATION");
  }
};

// What a driver may lack: subgroups that exchange numbers, texel buffers.
constexpr const char* kLacks[] = {"", "subgroup_shuffle", "texel_buffer"};

void lack(uint64_t seed) { ::setenv("WEFT_VULKAN_LIE", kLacks[(seed + seed / kChunks) % 3], 1); }

TEST_P(VulkanRandom, SpellingsOfAttentionAgreeWithTheOracle) {
  const uint64_t count = suite() == "slow" ? 500 : 10;
  for (uint64_t seed = GetParam(); seed < count; seed += kChunks) {
    const RandomAttention made = random_attention(seed, -1e4, DType::f32);
    SCOPED_TRACE(cat("seed ", seed, ": ", made.spelling));
    tell("spelling", seed);
    Module module = made.module;
    ASSERT_TRUE(add_backward(module, {"forward", "loss", {}, ""}).ok());
    if (made.spelling.find(" f64 ") != std::string::npos) continue;
    lack(seed);
    ask_for_validation(/*long_kernels=*/true);
    for (simt::Mapping mapping : {simt::Mapping::registers, simt::Mapping::workgroup}) {
      expect_agrees(module, {}, seed, mapping);
    }
  }
}

TEST_P(VulkanRandom, GraphsAgreeWithTheOracle) {
  for (uint64_t seed = GetParam(); seed < graph_count(); seed += kChunks) {
    SCOPED_TRACE(cat("seed ", seed));
    tell("graph", seed);
    RandomOptions options;
    options.loss = seed % 3 == 0;
    options.without = types_refused();
    Module module = random_module(seed, options);
    if (options.loss) {
      ASSERT_TRUE(add_backward(module, {"forward", "loss", {}, ""}).ok());
    }
    lack(seed);
    ask_for_validation(/*long_kernels=*/true);
    for (simt::Mapping mapping : mappings(seed)) {
      expect_agrees(module, random_sizes(module, seed), seed, mapping);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chunks, VulkanRandom, testing::Range<uint64_t>(0, kChunks));

}  // namespace
}  // namespace weft
