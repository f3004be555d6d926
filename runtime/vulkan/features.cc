// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/features.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <vector>

#include "runtime/vulkan/open.h"

namespace weft {
namespace {

// What Vulkan promises; of storage ranges less would do, as kernels see large buffers in parts.
constexpr int64_t kLeastStorageRange = 4096;
constexpr int64_t kLeastStorageBindings = 4;
constexpr int64_t kLeastWorkgroup = 128;
constexpr int64_t kLeastPushConstants = 128;

std::string version_text(uint32_t version) {
  return std::to_string(VK_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_VERSION_MINOR(version)) + "." +
         std::to_string(VK_VERSION_PATCH(version));
}

std::string kind_text(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
  }
}

struct PropertyChain {
  VkPhysicalDeviceProperties2 core{};
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceVulkan13Properties v13{};

  PropertyChain(VkPhysicalDevice device, uint32_t api_version) {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
    core.pNext = &v11;
    v11.pNext = &v12;
    if (api_version >= VK_API_VERSION_1_3) v12.pNext = &v13;
    vkGetPhysicalDeviceProperties2(device, &core);
  }
};

void read_limits(const VkPhysicalDeviceLimits& limits, VulkanFacts& facts) {
  facts.max_workgroup = limits.maxComputeWorkGroupInvocations;
  std::ranges::copy(limits.maxComputeWorkGroupSize, facts.max_workgroup_size);
  std::ranges::copy(limits.maxComputeWorkGroupCount, facts.max_groups);
  facts.shared_bytes = limits.maxComputeSharedMemorySize;
  facts.push_constant_bytes = limits.maxPushConstantsSize;
  facts.storage_range = limits.maxStorageBufferRange;
  facts.uniform_range = limits.maxUniformBufferRange;
  facts.texel_elements = limits.maxTexelBufferElements;
  facts.storage_alignment = static_cast<int64_t>(limits.minStorageBufferOffsetAlignment);
  facts.texel_alignment = static_cast<int64_t>(limits.minTexelBufferOffsetAlignment);
  facts.uniform_alignment = static_cast<int64_t>(limits.minUniformBufferOffsetAlignment);
  facts.storage_bindings = limits.maxPerStageDescriptorStorageBuffers;
  facts.texel_bindings = limits.maxPerStageDescriptorSampledImages;
  facts.image_bindings = limits.maxPerStageDescriptorStorageImages;
  facts.bindings = limits.maxPerStageResources;
}

void read_heaps(VkPhysicalDevice device, VulkanFacts& facts) {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    facts.heaps.push_back({static_cast<int64_t>(heap.size),
                           (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0, false});
  }
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryType& type = memory.memoryTypes[i];
    if (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) {
      facts.heaps[type.heapIndex].host_visible = true;
    }
  }
}

bool has_texels(VkPhysicalDevice device, VkFormatFeatureFlags needed) {
  for (VkFormat format : {VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32G32B32A32_SFLOAT}) {
    VkFormatProperties can{};
    vkGetPhysicalDeviceFormatProperties(device, format, &can);
    if ((can.bufferFeatures & needed) != needed) return false;
  }
  return true;
}

void read_features(VkPhysicalDevice device, const FeatureChain& chain,
                   const PropertyChain& properties, VulkanFacts& facts) {
  const bool in_compute =
      (properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  auto subgroup = [&](VkSubgroupFeatureFlags needed) {
    return in_compute && (properties.v11.subgroupSupportedOperations & needed) == needed;
  };
  facts.features = {
      {"float16", chain.v12.shaderFloat16 == VK_TRUE},
      {"float64", chain.core.features.shaderFloat64 == VK_TRUE},
      {"int8", chain.v12.shaderInt8 == VK_TRUE},
      {"int16", chain.core.features.shaderInt16 == VK_TRUE},
      {"int64", chain.core.features.shaderInt64 == VK_TRUE},
      {"storage16", chain.v11.storageBuffer16BitAccess == VK_TRUE},
      {"storage8", chain.v12.storageBuffer8BitAccess == VK_TRUE},
      {"subgroup_arithmetic", subgroup(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT)},
      {"subgroup_shuffle", subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_BIT)},
      {"subgroup_ballot", subgroup(VK_SUBGROUP_FEATURE_BALLOT_BIT)},
      {"subgroup_clustered", subgroup(VK_SUBGROUP_FEATURE_CLUSTERED_BIT)},
      {"subgroup_size_control",
       chain.v13.subgroupSizeControl == VK_TRUE && chain.v13.computeFullSubgroups == VK_TRUE &&
           (properties.v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0},
      {"texel_buffer", has_texels(device, VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT)},
      {"image_buffer", has_texels(device, VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT)},
  };
  // Matrices are in Vulkan's memory model, and their kernels have whole subgroups of a known size.
  facts.features.push_back(
      {"cooperative_matrix", !facts.matrices.empty() && chain.matrix.matrices == VK_TRUE &&
                                 chain.v12.vulkanMemoryModel == VK_TRUE && in_compute &&
                                 facts.has("subgroup_size_control") && facts.has("float16")});
  const bool matrices = facts.has("cooperative_matrix");
  for (const VulkanMatrix& matrix : facts.matrices) {
    facts.features.push_back({matrix_feature(matrix), matrices});
  }
}

std::string why_unusable(uint32_t api_version, const FeatureChain& chain,
                         const VulkanFacts& facts) {
  if (api_version < VK_API_VERSION_1_2) return "its Vulkan is older than 1.2";
  if (chain.v12.timelineSemaphore != VK_TRUE) return "it has no timeline semaphores";
  auto below = [](const char* what, int64_t has, int64_t least) {
    return has < least ? cat(what, " ", has, ", Weft needs ", least) : "";
  };
  for (const std::string& lack :
       {below("storage buffers of a kernel:", facts.storage_bindings, kLeastStorageBindings),
        below("bytes of a storage buffer:", facts.storage_range, kLeastStorageRange),
        below("invocations of a workgroup:", facts.max_workgroup, kLeastWorkgroup),
        below("bytes of push constants:", facts.push_constant_bytes, kLeastPushConstants)}) {
    if (!lack.empty()) return lack;
  }
  return "";
}

// As WEFT_VULKAN_LIMITS says. Returns what it does not understand.
std::string lower_limits(VulkanFacts& facts) {
  const char* asked = std::getenv(kVulkanLimits);
  std::istringstream items(asked == nullptr ? "" : asked);
  auto lower = [](auto& limit) {
    return [&limit](int64_t most) {
      if (int64_t{limit} > most) limit = static_cast<std::decay_t<decltype(limit)>>(most);
    };
  };
  const std::map<std::string, std::function<void(int64_t)>> known = {
      {"storage_range", lower(facts.storage_range)},
      {"texel_elements", lower(facts.texel_elements)},
      {"storage_bindings", lower(facts.storage_bindings)},
      {"shared_bytes", lower(facts.shared_bytes)},
      {"push_constant_bytes", lower(facts.push_constant_bytes)},
      {"max_workgroup", lower(facts.max_workgroup)},
      {"max_allocation", lower(facts.max_allocation)},
      {"max_groups", lower(facts.max_groups[0])}};
  for (std::string item; std::getline(items, item, ',');) {
    const size_t equals = item.find('=');
    const auto found = known.find(item.substr(0, equals));
    if (found == known.end() || equals == std::string::npos) return item;
    found->second(std::atoll(item.c_str() + equals + 1));
  }
  return "";
}

}  // namespace

void FeatureChain::query(VkPhysicalDevice device, uint32_t api_version) {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  core.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = api_version >= VK_API_VERSION_1_3 ? &v13 : nullptr;
  if (has_matrix_extension(device)) {
    matrix.next = v12.pNext;
    v12.pNext = &matrix;
  }
  vkGetPhysicalDeviceFeatures2(device, &core);
}

void FeatureChain::keep_known() {
  const VkPhysicalDeviceFeatures all = core.features;
  core.features = {};
  core.features.shaderFloat64 = all.shaderFloat64;
  core.features.shaderInt64 = all.shaderInt64;
  core.features.shaderInt16 = all.shaderInt16;
  core.features.shaderStorageImageExtendedFormats = all.shaderStorageImageExtendedFormats;
  core.features.fragmentStoresAndAtomics = all.fragmentStoresAndAtomics;  // GPU-assisted validation
  core.features.vertexPipelineStoresAndAtomics = all.vertexPipelineStoresAndAtomics;
  const auto v11_all = v11;
  v11 = {};
  v11.sType = v11_all.sType;
  v11.pNext = v11_all.pNext;
  v11.storageBuffer16BitAccess = v11_all.storageBuffer16BitAccess;
  const auto v12_all = v12;
  v12 = {};
  v12.sType = v12_all.sType;
  v12.pNext = v12_all.pNext;
  v12.timelineSemaphore = v12_all.timelineSemaphore;
  v12.shaderFloat16 = v12_all.shaderFloat16;
  v12.shaderInt8 = v12_all.shaderInt8;
  v12.storageBuffer8BitAccess = v12_all.storageBuffer8BitAccess;
  v12.shaderSubgroupExtendedTypes = v12_all.shaderSubgroupExtendedTypes;
  v12.scalarBlockLayout = v12_all.scalarBlockLayout;
  if (matrix.matrices == VK_TRUE) v12.vulkanMemoryModel = v12_all.vulkanMemoryModel;
  matrix.robust_access = VK_FALSE;
  const auto v13_all = v13;
  v13 = {};
  v13.sType = v13_all.sType;
  v13.subgroupSizeControl = v13_all.subgroupSizeControl;
  v13.computeFullSubgroups = v13_all.computeFullSubgroups;
}

std::optional<ComputeQueue> compute_queue(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  auto found = std::ranges::find_if(families, [](const VkQueueFamilyProperties& family) {
    return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && family.queueCount > 0;
  });
  if (found == families.end()) return std::nullopt;
  return ComputeQueue{static_cast<uint32_t>(found - families.begin()),
                      found->timestampValidBits > 0};
}

VulkanFacts read_facts(VkInstance instance, VkPhysicalDevice device, uint32_t index) {
  VkPhysicalDeviceProperties basic{};
  vkGetPhysicalDeviceProperties(device, &basic);
  VulkanFacts facts;
  facts.index = index;
  facts.name = basic.deviceName;
  facts.kind = kind_text(basic.deviceType);
  facts.vendor = basic.vendorID;
  facts.device = basic.deviceID;
  facts.driver_version = basic.driverVersion;
  facts.api_version = version_text(basic.apiVersion);
  read_limits(basic.limits, facts);
  read_heaps(device, facts);
  const std::optional<ComputeQueue> queue = compute_queue(device);
  if (queue && queue->timestamps) facts.timestamp_period = double{basic.limits.timestampPeriod};
  FeatureChain features;
  if (basic.apiVersion >= VK_API_VERSION_1_2) {
    features.query(device, basic.apiVersion);
    const PropertyChain properties(device, basic.apiVersion);
    facts.driver = properties.v12.driverName;
    facts.driver_info = properties.v12.driverInfo;
    // Mesa's driver on the CPU counts down from 65,535 over all loops of an invocation.
    if (facts.driver == "llvmpipe") facts.loop_limit = 65535;
    facts.subgroup = properties.v11.subgroupSize;
    facts.min_subgroup = facts.max_subgroup = facts.subgroup;
    facts.max_allocation = static_cast<int64_t>(properties.v11.maxMemoryAllocationSize);
    if (features.matrix.matrices == VK_TRUE) {
      facts.matrices = usable_matrices(matrix_properties(instance, device));
    }
    read_features(device, features, properties, facts);
    if (facts.has("subgroup_size_control")) {
      facts.min_subgroup = properties.v13.minSubgroupSize;
      facts.max_subgroup = properties.v13.maxSubgroupSize;
    }
  }
  const std::string unknown = lower_limits(facts);
  facts.unusable = queue ? why_unusable(basic.apiVersion, features, facts)
                         : std::string("it runs no compute kernels");
  if (!unknown.empty()) facts.unusable = cat(kVulkanLimits, " has no limit '", unknown, "'");
  return facts;
}

}  // namespace weft
