// SPDX-License-Identifier: Apache-2.0
#define VOLK_IMPLEMENTATION
#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";
constexpr uint32_t kLeastVersion = VK_API_VERSION_1_2;
constexpr size_t kMostMessages = 100;

// volk keeps the loader's functions in variables of its own, which only one thread may set.
std::mutex& loader_mutex() {
  static std::mutex mutex;
  return mutex;
}

// What the layer cannot check on a device without 64-bit integers, and no kernel of ours does:
// reads through addresses of buffers. Not a fault of what is validated.
constexpr std::string_view kNotOurs = "No buffer device address checking will be attempted";

VKAPI_ATTR VkBool32 VKAPI_CALL note(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                    VkDebugUtilsMessageTypeFlagsEXT,
                                    const VkDebugUtilsMessengerCallbackDataEXT* data, void* log) {
  const std::string_view message = data->pMessage;
  if (message.find(kNotOurs) == message.npos) static_cast<VulkanLog*>(log)->add(data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(VulkanLog* log) {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = note;
  info.pUserData = log;
  return info;
}

bool has_validation_layer() {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::ranges::any_of(layers, [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, kLayer) == 0;
  });
}

Status check_loader() {
  if (volkInitialize() != VK_SUCCESS) {
    return error({}, "there is no Vulkan loader on this machine: libvulkan.so.1 was not found")
        .hint("install libvulkan1 and a driver, for example mesa-vulkan-drivers; or --device cpu");
  }
  const uint32_t version = volkGetInstanceVersion();
  if (version < kLeastVersion) {
    return error({}, "the Vulkan loader is of version ", VK_VERSION_MAJOR(version), ".",
                 VK_VERSION_MINOR(version), ", Weft needs 1.2");
  }
  return ok();
}

}  // namespace

void VulkanLog::add(std::string message) {
  std::lock_guard lock(mutex_);
  if (messages_.size() < kMostMessages) messages_.push_back(std::move(message));
}

std::vector<std::string> VulkanLog::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(messages_, {});
}

bool VulkanLog::empty() const {
  std::lock_guard lock(mutex_);
  return messages_.empty();
}

VulkanValidation validation_asked() {
  const char* value = std::getenv("WEFT_VULKAN_VALIDATION");
  const std::string_view asked = value == nullptr ? "" : value;
  if (asked.empty() || asked == "0") return VulkanValidation::none;
  return asked == "gpu" ? VulkanValidation::gpu_assisted : VulkanValidation::core;
}

Result<std::unique_ptr<VulkanInstance>> VulkanInstance::open(const VulkanOptions& options) {
  std::lock_guard lock(loader_mutex());
  WEFT_TRY_STATUS(check_loader());
  std::unique_ptr<VulkanInstance> made(new VulkanInstance());
  made->log_ = options.log;
  made->log_is_ours_ = options.log == nullptr;
  if (made->log_is_ours_) made->log_ = std::make_shared<VulkanLog>();
  WEFT_TRY_STATUS(made->create(options));
  WEFT_TRY_STATUS(made->complaints());
  return made;
}

Status VulkanInstance::create(const VulkanOptions& options) {
  validates_ = options.validation != VulkanValidation::none;
  if (validates_ && !has_validation_layer()) {
    return error({}, "Vulkan validation is asked for, and ", kLayer, " is not installed")
        .hint("install vulkan-validationlayers");
  }
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "weft";
  application.apiVersion = std::min<uint32_t>(volkGetInstanceVersion(), VK_API_VERSION_1_3);
  VkDebugUtilsMessengerCreateInfoEXT messages = messenger_info(log_.get());
  const VkValidationFeatureEnableEXT checks[] = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
      VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,
      VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT};
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.pNext = &messages;  // for what is said before the messenger is there, and after
  features.enabledValidationFeatureCount =
      options.validation == VulkanValidation::gpu_assisted ? 3 : 1;
  features.pEnabledValidationFeatures = checks;
  const char* layers[] = {kLayer};
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validates_) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = layers;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
  }
  const VkResult opened = vkCreateInstance(&info, nullptr, &instance_);
  if (opened == VK_ERROR_INCOMPATIBLE_DRIVER) return no_vulkan_device();
  WEFT_TRY_STATUS(vk_status(opened, "opening the loader"));
  volkLoadInstanceOnly(instance_);
  if (!validates_) return ok();
  auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  return vk_status(create(instance_, &messages, nullptr, &messenger_), "asking for messages");
}

VulkanInstance::~VulkanInstance() {
  if (instance_ == VK_NULL_HANDLE) return;
  if (messenger_ != VK_NULL_HANDLE) {
    auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  vkDestroyInstance(instance_, nullptr);
  if (!log_is_ours_) return;
  for (const std::string& message : log_->take()) {
    std::fprintf(stderr, "vulkan validation: %s\n", message.c_str());
  }
}

Result<std::vector<VkPhysicalDevice>> VulkanInstance::devices() const {
  uint32_t count = 0;
  WEFT_TRY_STATUS(
      vk_status(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "looking for devices"));
  std::vector<VkPhysicalDevice> found(count);
  VkResult result = vkEnumeratePhysicalDevices(instance_, &count, found.data());
  if (result != VK_INCOMPLETE) WEFT_TRY_STATUS(vk_status(result, "looking for devices"));
  found.resize(count);
  return found;
}

Status VulkanInstance::complaints() const {
  if (!validates_ || log_->empty()) return ok();
  std::vector<std::string> said = log_->take();
  std::string all;
  for (const std::string& message : said) all += "\n" + message;
  return error({}, "vulkan validation: ", said.size(), " messages:", all);
}

}  // namespace weft
