// What goes wrong with a device is one clear message, and others can still be used.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/compile.h"
#include "ir/support/notice.h"
#include "ir/text/text.h"
#include "runtime/vulkan/device.h"
#include "tests/vulkan/open.h"
#include "tests/vulkan/sample.h"

namespace weft {
namespace {

using testing::HasSubstr;

// The functions of a device, to be replaced by those of one that fails.
VolkDeviceTable& functions_of(VulkanDevice& device) {
  return const_cast<VolkDeviceTable&>(device.vk());
}

VKAPI_ATTR VkResult VKAPI_CALL lost(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
  return VK_ERROR_DEVICE_LOST;
}
VKAPI_ATTR VkResult VKAPI_CALL exhausted(VkDevice, const VkMemoryAllocateInfo*,
                                         const VkAllocationCallbacks*, VkDeviceMemory*) {
  return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

class VulkanErrors : public VulkanTest {
 protected:
  Context make() const {
    ContextOptions options;
    options.vulkan = device_;
    return Context::create(load_sample(vulkan_sample()), options).value();
  }
  // Of a graph @g that is compiled and bound; empty if nothing is wrong.
  std::string said_of(const std::string& text, const DimBinding& dims = {}) const {
    CompileRequest request;
    request.device = "vulkan";
    Result<Compiled> made =
        compile(parse("limits.weft", text + "  return %y\n}\n").value(), request);
    if (!made.ok()) return render(made.diagnostics());
    ContextOptions options;
    options.vulkan = device_;
    Context context = Context::create(load_sample(std::move(made->executable)), options).value();
    const Result<BoundPtr> bound = context.bind("g", dims);
    return bound.ok() ? "" : render(bound.diagnostics());
  }
  static Status run(Context& context) {
    WEFT_TRY(BoundPtr bound, context.bind("forward", {{"B", 2}}));
    const std::vector<float> x(6, 1.0f);
    std::vector<float> y(6);
    return context.run(bound, std::vector{bytes_of(x)}, std::vector{room_in(y)});
  }
};
INSTANTIATE_TEST_SUITE_P(Memory, VulkanErrors, testing::Values(false), staging_name);

TEST_P(VulkanErrors, ALostDeviceSaysSoAndAnotherOneRuns) {
  {
    Context context = make();
    ASSERT_TRUE(run(context).ok());
    const PFN_vkQueueSubmit works = functions_of(*device_).vkQueueSubmit;
    functions_of(*device_).vkQueueSubmit = lost;
    for (int i = 0; i < 2; ++i) {
      const std::string said = render(run(context).diagnostics());
      EXPECT_THAT(said, HasSubstr("submitting a run: the device was lost"));
      EXPECT_THAT(said, HasSubstr("hint: "));
    }
    functions_of(*device_).vkQueueSubmit = works;
  }
  device_ = open_vulkan(options_).value();
  Context context = make();
  EXPECT_TRUE(run(context).ok());
}

TEST_P(VulkanErrors, OutOfMemorySaysHowMuchAndTheContextGoesOn) {
  Context context = make();
  ASSERT_TRUE(run(context).ok());
  const PFN_vkAllocateMemory works = functions_of(*device_).vkAllocateMemory;
  functions_of(*device_).vkAllocateMemory = exhausted;
  const Result<BoundPtr> bound = context.bind("wide", {{"N", 10'000'000}});
  functions_of(*device_).vkAllocateMemory = works;
  ASSERT_FALSE(bound.ok());
  const std::string said = render(bound.diagnostics());
  EXPECT_THAT(said, HasSubstr("bytes: the device is out of memory"));
  EXPECT_THAT(said, HasSubstr("hint: bind smaller sizes"));
  const Status again = run(context);
  EXPECT_TRUE(again.ok()) << render(again.diagnostics());
}

// Two types of memory, the second one not the device's.
VKAPI_ATTR void VKAPI_CALL two_types(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* all) {
  *all = {};
  all->memoryHeapCount = 2;
  all->memoryHeaps[0] = {1 << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  all->memoryHeaps[1] = {1 << 30, 0};
  all->memoryTypeCount = 2;
  all->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  all->memoryTypes[1] = {0, 1};
}
VKAPI_ATTR VkResult VKAPI_CALL full_device(VkDevice, const VkMemoryAllocateInfo* info,
                                           const VkAllocationCallbacks*, VkDeviceMemory* memory) {
  if (info->memoryTypeIndex == 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  *memory = reinterpret_cast<VkDeviceMemory>(uintptr_t{1});
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL free_nothing(VkDevice, VkDeviceMemory, const VkAllocationCallbacks*) {}

std::vector<std::string>& notices() {
  static std::vector<std::string> all;
  return all;
}

TEST_P(VulkanErrors, MemoryThatIsNotTheDevicesIsTold) {
  VolkDeviceTable functions = device_->vk();
  functions.vkAllocateMemory = full_device;
  functions.vkFreeMemory = free_nothing;
  const auto works = vkGetPhysicalDeviceMemoryProperties;
  vkGetPhysicalDeviceMemoryProperties = two_types;
  DeviceMemory memory(device_->physical(), device_->handle(), functions, int64_t{1} << 30, true);
  vkGetPhysicalDeviceMemoryProperties = works;
  notices().clear();
  set_notice_handler([](const std::string& text) { notices().push_back(text); });
  const VkMemoryRequirements needed{1 << 25, 256, 3};
  for (MemoryUse use : {MemoryUse::device, MemoryUse::device}) {
    EXPECT_TRUE(memory.allocate(needed, use, "arena").ok());
  }
  set_notice_handler(nullptr);
  ASSERT_EQ(notices().size(), 1u);
  EXPECT_EQ(notices()[0],
            "arena: the device's own memory has no room for 33554432 bytes more; they are in other "
            "memory, which is slower");
}

TEST_P(VulkanErrors, MoreThanOneAllocationIsRefused) {
  ::setenv(kVulkanLimits, "max_allocation=1000000", 1);
  device_ = open_vulkan(options_).value();
  ::unsetenv(kVulkanLimits);
  Context context = make();
  const Result<BoundPtr> bound = context.bind("wide", {{"N", 1'000'000}});
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(render(bound.diagnostics()), HasSubstr("the device gives at most 1000000"));
  EXPECT_TRUE(run(context).ok());
}

// Kernels count elements in 31 bits.
TEST_P(VulkanErrors, BuffersThatKernelsCannotCountAreRefused) {
  Executable executable = vulkan_sample();
  executable.dims.bounds["N"] = {1, int64_t{1} << 40};
  ContextOptions options;
  options.vulkan = device_;
  Context context = Context::create(load_sample(std::move(executable)), options).value();
  for (const int64_t size : {int64_t{INT32_MAX}, int64_t{INT32_MAX} + 1, int64_t{3} << 30}) {
    const Result<BoundPtr> bound = context.bind("wide", {{"N", size}});
    ASSERT_FALSE(bound.ok());
    EXPECT_THAT(render(bound.diagnostics()),
                HasSubstr("buffer x has " + std::to_string(size) +
                          " elements, of which its device counts at most 2147418112"));
  }
  EXPECT_TRUE(run(context).ok());
}

// The same where sizes are known beforehand, and each of them is small.
TEST_P(VulkanErrors, TheyAreRefusedWhereTheirShapeIsConstant) {
  EXPECT_THAT(said_of("graph @g(%x: u8[70000, 70000]) -> (y) {\n  %y = add %x, %x\n"),
              HasSubstr("buffer x has 4900000000 elements, of which its device counts at most"));
  EXPECT_THAT(said_of("graph @g(%x: u8[3000000000]) -> (y) {\n  %y = add %x, %x\n"),
              HasSubstr("3000000000"));
}

// Elements of random numbers are counted in 32 bits without a sign, where no buffer has them.
TEST_P(VulkanErrors, RandomNumbersBeyond32BitsAreRefused) {
  const std::string begin = "graph @g(%k: u32[2], %b: f32[B]) -> (y) {\n  %r = random_bits %k ";
  const std::string end = "\n  %y = max %r {axes = [1]}\n";
  const auto said = [&](const std::string& rows, const DimBinding& dims) {
    return said_of(begin + "{shape = [" + rows + ", 32768], stream = 0}" + end, dims);
  };
  EXPECT_EQ(said("131072", {{"B", 1}}), "");
  EXPECT_EQ(said("B", {{"B", 131072}}), "");
  EXPECT_THAT(said("131073", {{"B", 1}}), HasSubstr("random numbers of more than 2^32 elements"));
  EXPECT_THAT(said("B", {{"B", 131073}}), HasSubstr("which its device cannot hold"));
}

TEST_P(VulkanErrors, ADeviceWithoutNeededLimitsIsNotUsed) {
  auto said = [&](const char* limits) {
    ::setenv(kVulkanLimits, limits, 1);
    const Result<std::shared_ptr<VulkanDevice>> opened = open_vulkan(options_);
    ::unsetenv(kVulkanLimits);
    return opened.ok() ? "opened" : render(opened.diagnostics());
  };
  EXPECT_THAT(said("storage_bindings=2"),
              HasSubstr("storage buffers of a kernel: 2, Weft needs 4"));
  EXPECT_THAT(said("max_workgroup=64"),
              HasSubstr("invocations of a workgroup: 64, Weft needs 128"));
  EXPECT_THAT(said("push_constant_bytes=64"), HasSubstr("bytes of push constants: 64"));
  EXPECT_THAT(said("speed=3"), HasSubstr("WEFT_VULKAN_LIMITS has no limit 'speed=3'"));
}

}  // namespace
}  // namespace weft
