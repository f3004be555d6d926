// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/kernels.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/support/notice.h"

namespace weft {
namespace {

constexpr const char* kTooMany = "--device cpu, or another device: `weft devices` shows how many";

VkDescriptorType type_of(Binding::View view) {
  switch (view) {
    case Binding::storage: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case Binding::texel: return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    case Binding::image: return VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
  }
  return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
}

Error lacks(const Kernel& kernel, std::string_view feature, const VulkanFacts& facts) {
  return error({}, "kernel ", kernel.name, " needs ", feature, ", which ", facts.name, " lacks")
      .hint("compile it for this device");
}

Status check_subgroup(const Kernel& kernel, const VulkanFacts& facts) {
  const uint32_t size = kernel.subgroup;
  if (size == 0 || (facts.min_subgroup == size && facts.max_subgroup == size)) return ok();
  if (facts.has("subgroup_size_control") && size >= facts.min_subgroup &&
      size <= facts.max_subgroup) {
    return ok();
  }
  return error({}, "kernel ", kernel.name, " is for subgroups of ", size, ", ", facts.name,
               " has subgroups of ", facts.subgroup)
      .hint("compile it for this device");
}

// A device may have refused them after its self-test.
Status check_texels(const Kernel& kernel, const VulkanFacts& facts) {
  for (const Binding& binding : kernel.bindings) {
    if (binding.view == Binding::storage) continue;
    const char* feature = binding.view == Binding::texel ? "texel_buffer" : "image_buffer";
    if (!facts.has(feature)) return lacks(kernel, feature, facts);
  }
  return ok();
}

}  // namespace

Status check_bindings(const Kernel& kernel, const VulkanFacts& facts) {
  std::map<VkDescriptorType, uint32_t> counts;
  uint32_t all = 0;
  for (const DescriptorArray& item : descriptors_of(kernel)) {
    counts[item.type] += item.count;
    all += item.count;
  }
  auto check = [&](VkDescriptorType type, uint32_t most, const char* what) -> Status {
    const uint32_t used = counts[type];
    if (used <= most) return ok();
    return error({}, "kernel ", kernel.name, " has ", used, " ", what, ", ", facts.name, " allows ",
                 most)
        .hint(kTooMany);
  };
  WEFT_TRY_STATUS(
      check(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, facts.storage_bindings, "storage buffers"));
  WEFT_TRY_STATUS(
      check(VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, facts.texel_bindings, "texel buffers"));
  WEFT_TRY_STATUS(
      check(VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, facts.image_bindings, "image buffers"));
  if (all > facts.bindings) {
    return error({}, "kernel ", kernel.name, " has ", all, " bindings, ", facts.name, " allows ",
                 facts.bindings)
        .hint(kTooMany);
  }
  return ok();
}

namespace {

Status check_kernel(const Kernel& kernel, const VulkanFacts& facts) {
  for (const std::string& feature : kernel.needs) {
    if (!facts.has(feature)) return lacks(kernel, feature, facts);
  }
  WEFT_TRY_STATUS(check_texels(kernel, facts));
  if (kernel.workgroup > facts.max_workgroup) {
    return error({}, "kernel ", kernel.name, " has workgroups of ", kernel.workgroup,
                 " invocations, ", facts.name, " allows ", facts.max_workgroup);
  }
  const int64_t most = kernel.numbers_in_buffer ? facts.uniform_range : facts.push_constant_bytes;
  if (number_bytes(kernel) > most) {
    return error({}, "kernel ", kernel.name, " is given ", number_bytes(kernel),
                 " bytes of numbers, ", facts.name, " allows ", most);
  }
  WEFT_TRY_STATUS(check_subgroup(kernel, facts));
  return check_bindings(kernel, facts);
}

// Of what is there twice: kernels that see texels are for devices that have many.
Status check_fit(const Kernel& kernel, const VulkanFacts& facts) {
  WEFT_TRY_STATUS(check_kernel(kernel, facts));
  const bool texels = std::ranges::any_of(
      kernel.bindings, [](const Binding& b) { return b.view != Binding::storage; });
  if (!texels || facts.has_many_texels()) return ok();
  return error({}, "kernel ", kernel.name, " sees texel buffers, of which ", facts.name,
               " shows only ", facts.texel_elements, " texels");
}

}  // namespace

uint32_t number_bytes(const Kernel& kernel) {
  return static_cast<uint32_t>(4 * (1 + kernel.buffers + kernel.args.size()));
}

std::vector<DescriptorArray> descriptors_of(const Kernel& kernel) {
  std::vector<DescriptorArray> result;
  for (const Binding& binding : kernel.bindings) {
    result.push_back({type_of(binding.view), binding.parts});
  }
  if (kernel.numbers_in_buffer) result.push_back({VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER});
  if (!kernel.checks.empty()) result.push_back({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER});
  return result;
}

Result<LoadedPtr> fit_to_device(LoadedPtr loaded, const VulkanFacts& facts) {
  const Executable& executable = loaded->executable();
  if (executable.portable.empty()) return loaded;
  Executable fitted = executable;
  size_t changed = 0;
  std::string why;  // of the first one
  for (size_t i = 0; i < fitted.kernels.size(); ++i) {
    const Status fits = check_fit(fitted.kernels[i], facts);
    if (fits.ok()) continue;
    if (changed++ == 0) why = fits.diagnostics()[0].message;
    fitted.kernels[i] = fitted.portable[i];
  }
  if (changed == 0) return loaded;
  tell_notice(cat(changed, " of ", fitted.kernels.size(),
                  " kernels run in their portable form, which may be slower: ", why,
                  "; compile the model for this device"));
  fitted.portable.clear();
  return LoadedExecutable::load(std::move(fitted));
}

VulkanKernels::VulkanKernels(LoadedPtr loaded, std::shared_ptr<VulkanDevice> device)
    : loaded_(std::move(loaded)),
      device_(std::move(device)),
      kernels_(loaded_->executable().kernels.size()) {}

Result<std::unique_ptr<VulkanKernels>> VulkanKernels::create(LoadedPtr loaded,
                                                             std::shared_ptr<VulkanDevice> device) {
  for (const Kernel& kernel : loaded->executable().kernels) {
    WEFT_TRY_STATUS(check_kernel(kernel, device->facts()));
  }
  return std::unique_ptr<VulkanKernels>(new VulkanKernels(std::move(loaded), std::move(device)));
}

VulkanKernels::~VulkanKernels() {
  const VolkDeviceTable& vk = device_->vk();
  for (const VulkanKernel& kernel : kernels_) {
    vk.vkDestroyPipeline(device_->handle(), kernel.pipeline, nullptr);
    vk.vkDestroyPipelineLayout(device_->handle(), kernel.layout, nullptr);
    vk.vkDestroyDescriptorSetLayout(device_->handle(), kernel.set, nullptr);
  }
}

Result<const VulkanKernel*> VulkanKernels::get(uint32_t number) {
  VulkanKernel& made = kernels_[number];
  if (made.pipeline != VK_NULL_HANDLE) return &made;
  const Kernel& kernel = loaded_->executable().kernels[number];
  if (made.layout == VK_NULL_HANDLE) WEFT_TRY_STATUS(make_layout(kernel, made));
  WEFT_TRY_STATUS(make_pipeline(kernel, made));
  return &made;
}

Status VulkanKernels::make_layout(const Kernel& kernel, VulkanKernel& made) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const DescriptorArray& item : descriptors_of(kernel)) {
    bindings.push_back({static_cast<uint32_t>(bindings.size()), item.type, item.count,
                        VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  if (made.set == VK_NULL_HANDLE) {
    WEFT_TRY_STATUS(vk_status(
        device_->vk().vkCreateDescriptorSetLayout(device_->handle(), &set, nullptr, &made.set),
        "kernel " + kernel.name + ": describing its buffers"));
  }
  VkPushConstantRange numbers{VK_SHADER_STAGE_COMPUTE_BIT, 0, number_bytes(kernel)};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &made.set;
  info.pushConstantRangeCount = kernel.numbers_in_buffer ? 0 : 1;
  info.pPushConstantRanges = &numbers;
  return vk_status(
      device_->vk().vkCreatePipelineLayout(device_->handle(), &info, nullptr, &made.layout),
      "kernel " + kernel.name + ": describing its numbers");
}

Status VulkanKernels::make_pipeline(const Kernel& kernel, VulkanKernel& made) {
  std::vector<uint32_t> words(kernel.bytes / 4);
  std::memcpy(words.data(), loaded_->executable().code.data() + kernel.entry, kernel.bytes);
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = kernel.bytes;
  code.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  const VolkDeviceTable& vk = device_->vk();
  WEFT_TRY_STATUS(vk_status(vk.vkCreateShaderModule(device_->handle(), &code, nullptr, &module),
                            "kernel " + kernel.name + ": loading its SPIR-V"));
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = kernel.subgroup;
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.layout = made.layout;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  if (kernel.subgroup != 0 && device_->facts().has("subgroup_size_control")) {
    info.stage.pNext = &subgroup;
    const bool matrices = std::ranges::count(kernel.needs, "cooperative_matrix") > 0;
    if (matrices) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  const VkResult result = vk.vkCreateComputePipelines(device_->handle(), device_->pipeline_cache(),
                                                      1, &info, nullptr, &made.pipeline);
  vk.vkDestroyShaderModule(device_->handle(), module, nullptr);
  WEFT_TRY_STATUS(vk_status(result, "compiling kernel " + kernel.name));
  return device_->complaints();
}

}  // namespace weft
