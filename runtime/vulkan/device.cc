// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "ir/support/notice.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/self_test.h"

namespace weft {
namespace {

constexpr uint64_t kPatience = 1'000'000'000;  // nanoseconds to wait before asking again

int rank(const VulkanFacts& facts) {
  constexpr std::array kOrder = {"discrete", "integrated", "virtual", "cpu", "other"};
  return static_cast<int>(std::ranges::find(kOrder, facts.kind) - kOrder.begin());
}

std::string listed(const std::vector<VulkanFacts>& devices) {
  std::string text;
  for (const VulkanFacts& facts : devices) {
    text += (text.empty() ? "" : "; ") + cat("vulkan:", facts.index, " is ", facts.name);
    if (!facts.unusable.empty()) text += ", unusable: " + facts.unusable;
  }
  return text;
}

Result<std::vector<VulkanFacts>> facts_of_all(const VulkanInstance& instance,
                                              const std::vector<VkPhysicalDevice>& devices) {
  std::vector<VulkanFacts> all;
  for (VkPhysicalDevice device : devices) {
    all.push_back(read_facts(instance.handle(), device, static_cast<uint32_t>(all.size())));
  }
  return all;
}

bool fails_on_purpose(uint32_t number) {
  const char* asked = std::getenv(kVulkanFail);
  std::istringstream items(asked == nullptr ? "" : asked);
  for (std::string item; std::getline(items, item, ',');) {
    if (item == std::to_string(number)) return true;
  }
  return false;
}

}  // namespace

Result<uint32_t> choose_vulkan(std::string_view name, const std::vector<VulkanFacts>& devices) {
  if (devices.empty()) return no_vulkan_device();
  if (name != "vulkan") {
    uint32_t number = 0;
    const char* end = name.data() + name.size();
    const bool prefixed = name.starts_with("vulkan:");
    const auto parsed = std::from_chars(name.data() + (prefixed ? 7 : 0), end, number);
    if (!prefixed || parsed.ec != std::errc() || parsed.ptr != end) {
      return error({}, "no device is called '", name, "'").hint("vulkan, or vulkan:0 and so on");
    }
    if (number >= devices.size()) {
      return error({}, "there is no device ", name, ": ", listed(devices));
    }
    if (devices[number].unusable.empty()) return number;
    return error({}, "device ", name, " (", devices[number].name,
                 ") cannot be used: ", devices[number].unusable);
  }
  const VulkanFacts* best = nullptr;
  for (const VulkanFacts& facts : devices) {
    if (facts.unusable.empty() && (best == nullptr || rank(facts) < rank(*best))) best = &facts;
  }
  if (best == nullptr) return error({}, "no Vulkan device can be used: ", listed(devices));
  return best->index;
}

Result<std::vector<VulkanFacts>> vulkan_devices(const VulkanOptions& options) {
  WEFT_TRY(std::unique_ptr<VulkanInstance> instance, VulkanInstance::open(options));
  WEFT_TRY(std::vector<VkPhysicalDevice> devices, instance->devices());
  return facts_of_all(*instance, devices);
}

Result<std::shared_ptr<VulkanDevice>> open_vulkan(const VulkanOptions& options) {
  WEFT_TRY(std::shared_ptr<VulkanDevice> device, VulkanDevice::open(options));
  if (options.self_test) self_test(device, options.cache_folder);
  return device;
}

const VulkanFacts& facts_of(const VulkanDevice& device) { return device.facts(); }

Result<std::shared_ptr<VulkanDevice>> VulkanDevice::open(const VulkanOptions& options) {
  std::shared_ptr<VulkanDevice> made(new VulkanDevice());
  WEFT_TRY(made->instance_, VulkanInstance::open(options));
  WEFT_TRY(std::vector<VkPhysicalDevice> devices, made->instance_->devices());
  WEFT_TRY(std::vector<VulkanFacts> facts, facts_of_all(*made->instance_, devices));
  made->cache_folder_ = options.cache_folder;
  made->drop_barrier_ = options.drop_barrier;
  if (const char* run = std::getenv(kVulkanLose)) made->lose_at_ = std::atoll(run);
  WEFT_TRY(uint32_t number, choose_vulkan(options.device, facts));
  for (;;) {  // a driver that fails is one of the unusable ones from then on
    made->facts_ = facts[number];
    made->physical_ = devices[number];
    Status created = made->create(options);
    if (created.ok()) break;
    made->close();
    facts[number].unusable = created.diagnostics()[0].message;
    const Result<uint32_t> next = choose_vulkan(options.device, facts);
    if (!next.ok()) return std::move(created).take_error();
    tell_notice(cat("vulkan:", number, " (", facts[number].name, ") is not used: ",
                    facts[number].unusable, "; vulkan:", *next, " (", facts[*next].name, ") is"));
    number = *next;
  }
  WEFT_TRY_STATUS(made->complaints());
  return made;
}

void VulkanDevice::refuse(std::string_view feature, std::string reason) {
  for (VulkanFeature& item : facts_.features) {
    if (item.name == feature) item.refused = std::move(reason);
  }
}

Status VulkanDevice::choose_queue() {
  const std::optional<ComputeQueue> found = compute_queue(physical_);
  if (!found) return error({}, facts_.name, " runs no compute kernels");
  queue_family_ = found->family;
  return ok();
}

Status VulkanDevice::create(const VulkanOptions& options) {
  WEFT_TRY_STATUS(choose_queue());
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(physical_, &properties);
  FeatureChain features;
  features.query(physical_, properties.apiVersion);
  features.keep_known();
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = features.matrix.matrices == VK_TRUE ? 1 : 0;
  info.ppEnabledExtensionNames = &kMatrixExtension;
  const VkResult opened = fails_on_purpose(facts_.index)
                              ? VK_ERROR_INITIALIZATION_FAILED
                              : vkCreateDevice(physical_, &info, nullptr, &device_);
  WEFT_TRY_STATUS(vk_status(opened, "opening " + facts_.name));
  volkLoadDeviceTable(&vk_, device_);
  vk_.vkGetDeviceQueue(device_, queue_family_, 0, &queue_);
  memory_ = std::make_unique<DeviceMemory>(physical_, device_, vk_, facts_.max_allocation,
                                           !options.staging);
  WEFT_TRY_STATUS(create_semaphore());
  return load_pipelines();
}

Status VulkanDevice::create_semaphore() {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  return vk_status(vk_.vkCreateSemaphore(device_, &info, nullptr, &timeline_),
                   "creating a semaphore");
}

VulkanDevice::~VulkanDevice() { close(); }

void VulkanDevice::close() {
  if (device_ == VK_NULL_HANDLE) return;
  vk_.vkDeviceWaitIdle(device_);
  if (pipeline_cache_ != VK_NULL_HANDLE) {
    static_cast<void>(save_pipelines());  // a cache that cannot be written is only slower
    vk_.vkDestroyPipelineCache(device_, pipeline_cache_, nullptr);
  }
  if (timeline_ != VK_NULL_HANDLE) vk_.vkDestroySemaphore(device_, timeline_, nullptr);
  memory_.reset();
  vk_.vkDestroyDevice(device_, nullptr);
  device_ = VK_NULL_HANDLE;
  timeline_ = VK_NULL_HANDLE;
  pipeline_cache_ = VK_NULL_HANDLE;
}

VulkanRuns runs_of(const VulkanDevice& device) { return device.runs(); }

Status VulkanDevice::run(std::span<const VkCommandBuffer> commands) {
  const auto start = std::chrono::steady_clock::now();
  WEFT_TRY_STATUS(submit_and_wait(commands));
  nanoseconds_ += (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
  ++submissions_;
  return complaints();
}

Status VulkanDevice::submit_and_wait(std::span<const VkCommandBuffer> commands) {
  uint64_t value = 0;
  {
    std::lock_guard lock(queue_mutex_);
    value = ++submitted_;
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.commandBufferCount = static_cast<uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
    const VkResult result = lose_at_ > 0 && static_cast<int64_t>(value) >= lose_at_
                                ? VK_ERROR_DEVICE_LOST
                                : vk_.vkQueueSubmit(queue_, 1, &info, VK_NULL_HANDLE);
    WEFT_TRY_STATUS(vk_status(result, "submitting a run"));
  }
  VkSemaphoreWaitInfo wait{};
  wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &value;
  VkResult result = VK_TIMEOUT;
  while (result == VK_TIMEOUT) result = vk_.vkWaitSemaphores(device_, &wait, kPatience);
  return vk_status(result, "running on " + facts_.name);
}

}  // namespace weft
