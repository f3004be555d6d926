// The driver's compiled kernels, kept in a file between runs. Drivers check what they are given,
// but not all of them well: the file holds a checksum of ours, and belongs to one device and
// driver.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ir/support/hash.h"
#include "ir/support/private_folder.h"
#include "runtime/vulkan/device.h"

namespace weft {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;

std::string circumstances(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties{};
  vkGetPhysicalDeviceProperties(device, &properties);
  std::string key = cat("weft pipelines 1 ", properties.vendorID, " ", properties.deviceID, " ",
                        properties.driverVersion, " ", properties.deviceName, " ");
  key.append(reinterpret_cast<const char*>(properties.pipelineCacheUUID), VK_UUID_SIZE);
  return key;
}

std::string file_name(const std::string& key) { return digest(key) + ".pipelines"; }

// A file is the checksum of the rest, the key and the driver's bytes.
std::string read_file(const std::string& folder, const std::string& key) {
  Result<PrivateFolder> opened = PrivateFolder::open(folder);
  if (!opened.ok()) return "";
  std::string all = opened->read(file_name(key), kMostBytes).value_or("");
  uint64_t sum = 0;
  if (all.size() < sizeof sum + key.size()) return "";
  std::memcpy(&sum, all.data(), sizeof sum);
  const std::string_view rest = std::string_view(all).substr(sizeof sum);
  if (checksum(rest) != sum || !rest.starts_with(key)) return "";
  return std::string(rest.substr(key.size()));
}

}  // namespace

Status VulkanDevice::load_pipelines() {
  std::string bytes;
  if (!cache_folder_.empty()) bytes = read_file(cache_folder_, circumstances(physical_));
  saved_bytes_ = bytes.size();
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = bytes.size();
  info.pInitialData = bytes.data();
  return vk_status(vk_.vkCreatePipelineCache(device_, &info, nullptr, &pipeline_cache_),
                   "creating a pipeline cache");
}

Status VulkanDevice::save_pipelines() {
  if (cache_folder_.empty()) return ok();
  size_t size = 0;
  WEFT_TRY_STATUS(vk_status(vk_.vkGetPipelineCacheData(device_, pipeline_cache_, &size, nullptr),
                            "reading the pipeline cache"));
  if (size == saved_bytes_ || size > kMostBytes / 2) return ok();
  std::string bytes(size, '\0');
  WEFT_TRY_STATUS(
      vk_status(vk_.vkGetPipelineCacheData(device_, pipeline_cache_, &size, bytes.data()),
                "reading the pipeline cache"));
  bytes.resize(size);
  const std::string key = circumstances(physical_);
  const std::string rest = key + bytes;
  const uint64_t sum = checksum(rest);
  WEFT_TRY(PrivateFolder folder, PrivateFolder::open(cache_folder_));
  const std::string head(reinterpret_cast<const char*>(&sum), sizeof sum);
  WEFT_TRY_STATUS(folder.write(file_name(key), head + rest));
  saved_bytes_ = size;
  return ok();
}

}  // namespace weft
