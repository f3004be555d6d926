// Which devices there are, which is chosen, and what is kept on disk.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/context.h"
#include "tests/support/scratch.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/sample.h"

namespace weft {
namespace {

VulkanFacts device(uint32_t index, const std::string& kind, const std::string& unusable = "") {
  VulkanFacts facts;
  facts.index = index;
  facts.name = kind + " device";
  facts.kind = kind;
  facts.unusable = unusable;
  return facts;
}

TEST(ChooseVulkan, PrefersDiscreteThenIntegrated) {
  std::vector<VulkanFacts> all = {device(0, "cpu"), device(1, "integrated"), device(2, "discrete"),
                                  device(3, "discrete")};
  EXPECT_EQ(choose_vulkan("vulkan", all).value(), 2u);
  all[2].unusable = all[3].unusable = "it is broken";
  EXPECT_EQ(choose_vulkan("vulkan", all).value(), 1u);
  EXPECT_EQ(choose_vulkan("vulkan:0", all).value(), 0u);
}

TEST(ChooseVulkan, SaysWhatIsWrong) {
  const std::vector<VulkanFacts> all = {device(0, "cpu", "its Vulkan is older than 1.2")};
  auto message = [&](const std::string& name, const std::vector<VulkanFacts>& devices) {
    return render(choose_vulkan(name, devices).diagnostics());
  };
  EXPECT_NE(message("vulkan", {}).find("finds no device"), std::string::npos);
  EXPECT_NE(message("vulkan", all).find("older than 1.2"), std::string::npos);
  EXPECT_NE(message("vulkan:0", all).find("older than 1.2"), std::string::npos);
  EXPECT_NE(message("vulkan:1", all).find("there is no device vulkan:1"), std::string::npos);
  for (const char* name : {"vulkan:", "vulkan:x", "vulkan:1x", "vulkan:-1", "gpu"}) {
    EXPECT_NE(message(name, all).find("no device is called"), std::string::npos) << name;
  }
}

class VulkanDeviceTest : public VulkanTest {};
INSTANTIATE_TEST_SUITE_P(Memory, VulkanDeviceTest, testing::Values(false), staging_name);

TEST_P(VulkanDeviceTest, FactsAreWhatVulkanPromises) {
  const VulkanFacts& facts = facts_of(*device_);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_GE(facts.storage_range, int64_t{1} << 27);
  EXPECT_GE(facts.push_constant_bytes, 128);
  EXPECT_GE(facts.max_workgroup, 128u);
  EXPECT_LE(facts.storage_alignment, 256);
  EXPECT_FALSE(facts.heaps.empty());
  EXPECT_EQ(vulkan_devices(options_).value().at(facts.index).name, facts.name);
}

TEST_P(VulkanDeviceTest, KeepsCompiledKernelsOnDisk) {
  const std::string folder = scratch("vulkan_cache");
  std::filesystem::remove_all(folder);
  auto run = [&] {
    VulkanOptions options = options_;
    options.cache_folder = folder;
    ContextOptions context_options;
    context_options.vulkan = open_vulkan(options).value();
    Context context = Context::create(load_sample(vulkan_sample()), context_options).value();
    ASSERT_TRUE(context.bind("forward", {{"B", 3}}).ok());
  };
  run();
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    files.push_back(file.path());
  }
  ASSERT_EQ(files.size(), 1u);
  run();
  std::ofstream(files[0], std::ios::binary) << "damaged";
  run();
}

// Every feature that the driver reports and Weft knows a probe for.
TEST_P(VulkanDeviceTest, KeepsItsPromises) {
  VulkanOptions options = options_;
  options.self_test = true;
  const std::shared_ptr<VulkanDevice> device = open_vulkan(options).value();
  for (const VulkanFeature& feature : facts_of(*device).features) {
    EXPECT_EQ(feature.refused, "") << feature.name;
  }
}

TEST_P(VulkanDeviceTest, ADriverThatLiesIsFoundOut) {
  VulkanOptions options = options_;
  options.self_test = true;
  options.cache_folder = scratch("vulkan_verdict");
  std::filesystem::remove_all(options.cache_folder);
  ::setenv("WEFT_VULKAN_LIE", "texel_buffer", 1);
  const VulkanFacts facts = facts_of(*open_vulkan(options).value());
  ::unsetenv("WEFT_VULKAN_LIE");
  EXPECT_FALSE(facts.has("texel_buffer"));
  EXPECT_TRUE(facts.has("image_buffer"));
  auto refused = std::ranges::find(facts.features, "texel_buffer", &VulkanFeature::name);
  EXPECT_EQ(refused->refused, "its self-test gave 2 instead of 1");
  // A lie is not remembered, the truth is.
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(facts_of(*open_vulkan(options).value()).has("texel_buffer"));
}

// As `weft run` of a compiled file and the C API do.
TEST_P(VulkanDeviceTest, AContextThatOpensItsDeviceTestsIt) {
  const auto create = [] { return Context::create(load_sample(vulkan_sample())); };
  ::setenv("WEFT_VULKAN_LIE", "texel_buffer", 1);
  const Result<Context> context = create();
  ::unsetenv("WEFT_VULKAN_LIE");
  ASSERT_FALSE(context.ok());
  EXPECT_NE(render(context.diagnostics()).find("needs texel_buffer, which"), std::string::npos)
      << render(context.diagnostics());
  EXPECT_TRUE(create().ok());
}

TEST_P(VulkanDeviceTest, OpensWithoutACacheThatCanBeWritten) {
  VulkanOptions options = options_;
  options.self_test = true;
  options.cache_folder = "/proc/weft";
  const Result<std::shared_ptr<VulkanDevice>> opened = open_vulkan(options);
  ASSERT_TRUE(opened.ok()) << render(opened.diagnostics());
  EXPECT_TRUE(facts_of(**opened).has("texel_buffer"));
}

}  // namespace
}  // namespace weft
