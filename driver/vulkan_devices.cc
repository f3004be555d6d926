// SPDX-License-Identifier: Apache-2.0
#include "driver/vulkan_devices.h"

#include <algorithm>
#include <cstdio>

#include "driver/cache_folder.h"
#ifdef WEFT_HAS_VULKAN
#include "backends/vulkan/compile.h"
#include "runtime/vulkan/open.h"
#endif

namespace weft {
namespace {

std::vector<Device> none(const std::string& why) {
  Device device;
  device.name = "vulkan";
  device.description = "no device";
  device.verdict = why;
  return {device};
}

#ifdef WEFT_HAS_VULKAN
std::string triple(const uint32_t (&numbers)[3]) {
  return cat(numbers[0], " x ", numbers[1], " x ", numbers[2]);
}

// "32 KiB": in the largest unit that leaves a whole number.
std::string size_text(int64_t bytes) {
  constexpr const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB"};
  size_t unit = 0;
  for (; unit + 1 < std::size(kUnits) && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return cat(bytes, kUnits[unit]);
}

std::string heaps_text(const VulkanFacts& facts) {
  std::string text;
  for (const VulkanHeap& heap : facts.heaps) {
    text += cat(text.empty() ? "" : ", ", size_text(heap.bytes),
                heap.device_local ? " of the device" : "",
                heap.host_visible ? " (the host sees it)" : "");
  }
  return text;
}

std::string features_text(const VulkanFacts& facts) {
  std::string text;
  for (const VulkanFeature& feature : facts.features) {
    if (facts.has(feature.name)) text += (text.empty() ? "" : " ") + feature.name;
  }
  return text;
}

std::string lacks_text(const VulkanFacts& facts) {
  std::string text;
  for (const VulkanFeature& feature : facts.features) {
    if (!feature.present) text += (text.empty() ? "" : " ") + feature.name;
  }
  return text.empty() ? "nothing" : text;
}

std::string verdict_text(const VulkanFacts& facts) {
  std::string text;
  for (const VulkanFeature& feature : facts.features) {
    if (feature.refused.empty()) continue;
    text += (text.empty() ? "not used: " : "; ") + feature.name + ": " + feature.refused;
  }
  return text.empty() ? "ok" : text;
}

// As the vendor reads the number; most have Vulkan's own parts.
std::string driver_version_text(const VulkanFacts& facts) {
  constexpr uint32_t kNvidia = 0x10de;
  const uint32_t v = facts.driver_version;
  return facts.vendor == kNvidia
             ? cat(v >> 22, ".", v >> 14 & 0xff, ".", v >> 6 & 0xff, ".", v & 0x3f, " (", v, ")")
             : cat(v >> 22, ".", v >> 12 & 0x3ff, ".", v & 0xfff, " (", v, ")");
}

std::string ids_text(const VulkanFacts& facts) {
  char text[48];
  std::snprintf(text, sizeof text, "vendor 0x%04x, device 0x%04x", facts.vendor, facts.device);
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_text(const VulkanFacts& facts) {
  std::string subgroup = std::to_string(facts.subgroup);
  if (facts.min_subgroup != facts.max_subgroup) {
    subgroup += cat(" (", facts.min_subgroup, " to ", facts.max_subgroup, ")");
  }
  return {{"kind", facts.kind},
          {"driver", facts.driver + " " + facts.driver_info},
          {"driver version", driver_version_text(facts)},
          {"ids", ids_text(facts)},
          {"vulkan", facts.api_version},
          {"features", features_text(facts)},
          {"lacks", lacks_text(facts)},
          {"kernels", kernels_text(facts, {})},
          {"subgroup", subgroup},
          {"workgroup", cat(facts.max_workgroup, ", ", triple(facts.max_workgroup_size))},
          {"groups", triple(facts.max_groups)},
          {"shared memory", size_text(facts.shared_bytes)},
          {"push constants", size_text(facts.push_constant_bytes)},
          {"storage range", size_text(facts.storage_range)},
          {"uniform range", size_text(facts.uniform_range)},
          {"texels", std::to_string(facts.texel_elements)},
          {"alignment", cat("storage ", facts.storage_alignment, ", texel ", facts.texel_alignment,
                            ", uniform ", facts.uniform_alignment)},
          {"bindings", cat("storage ", facts.storage_bindings, ", texel ", facts.texel_bindings,
                           ", image ", facts.image_bindings, ", all ", facts.bindings)},
          {"loop limit", facts.loop_limit > 0 ? cat(facts.loop_limit, " iterations") : "none"},
          {"allocation", size_text(facts.max_allocation)},
          {"timestamps", facts.timestamp_period > 0 ? cat(facts.timestamp_period, " ns") : "none"},
          {"heaps", heaps_text(facts)}};
}

Device device_of(VulkanFacts facts) {
  Device device;
  device.name = cat("vulkan:", facts.index);
  device.description = facts.name;
  device.usable = facts.unusable.empty();
  device.verdict = facts.unusable;
  if (device.usable) {
    VulkanOptions options;
    options.device = device.name;
    options.self_test = true;
    options.cache_folder = vulkan_folder(user_cache_folder());
    if (Result<std::shared_ptr<VulkanDevice>> opened = open_vulkan(options); opened.ok()) {
      facts = facts_of(**opened);
      device.verdict = verdict_text(facts);
    } else {
      device.usable = false;
      device.verdict = opened.diagnostics()[0].message;
    }
  }
  device.facts = facts_text(facts);
  return device;
}
#endif

}  // namespace

#ifdef WEFT_HAS_VULKAN
std::string kernels_text(const VulkanFacts& facts, const simt::KernelForm& form) {
  const simt::Profile profile = vulkan::profile_of(facts, form);
  return cat(profile.workgroup ? "tiles in workgroup memory" : "tiles in registers", ", reads ",
             profile.texel_loads ? "texel buffers" : "storage buffers", ", writes ",
             profile.image_stores > 1 ? "image buffers" : "storage buffers", ", rows by ",
             profile.shuffles ? "shuffles" : "workgroup memory",
             profile.matrix.m > 0 ? ", products of f16 on matrix units" : "");
}
#endif

Result<OpenVulkan> open_vulkan_device([[maybe_unused]] const std::string& name) {
#ifdef WEFT_HAS_VULKAN
  VulkanOptions options;
  options.device = name;
  options.self_test = true;
  options.cache_folder = vulkan_folder(user_cache_folder());
  OpenVulkan opened;
  WEFT_TRY(opened.device, open_vulkan(options));
  const VulkanFacts& facts = facts_of(*opened.device);
  for (const VulkanHeap& heap : facts.heaps) {
    if (heap.device_local) opened.memory_bytes = std::max(opened.memory_bytes, heap.bytes);
  }
  opened.in_host_memory = facts.kind == "cpu";
  return opened;
#else
  return error({}, "this build has no Vulkan").hint("--device cpu");
#endif
}

#ifdef WEFT_HAS_VULKAN
ReplayWatch::ReplayWatch(std::shared_ptr<VulkanDevice> device) : device_(std::move(device)) {
  const VulkanRuns before = runs_of(*device_);
  submissions_ = before.submissions;
  nanoseconds_ = before.nanoseconds;
}

double ReplayWatch::submissions(int runs) const {
  return static_cast<double>(runs_of(*device_).submissions - submissions_) / runs;
}

double ReplayWatch::host_us(int runs, double seconds) const {
  const auto driver = static_cast<double>(runs_of(*device_).nanoseconds - nanoseconds_);
  return (seconds * 1e6 - driver * 1e-3) / runs;
}
#else
ReplayWatch::ReplayWatch(std::shared_ptr<VulkanDevice>) {}
double ReplayWatch::submissions(int) const { return 0; }
double ReplayWatch::host_us(int, double) const { return 0; }
#endif

std::vector<Device> list_vulkan_devices() {
#ifdef WEFT_HAS_VULKAN
  Result<std::vector<VulkanFacts>> found = vulkan_devices();
  if (!found.ok()) return none(found.diagnostics()[0].message);
  if (found->empty()) return none("Vulkan finds no device on this machine");
  std::vector<Device> devices;
  for (const VulkanFacts& facts : *found) devices.push_back(device_of(facts));
  return devices;
#else
  return none("this build has no Vulkan");
#endif
}

}  // namespace weft
