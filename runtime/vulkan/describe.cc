// Descriptors and numbers of the launches of a recording.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "runtime/memory.h"
#include "runtime/vulkan/formats.h"
#include "runtime/vulkan/recorder.h"

namespace weft {
namespace {

constexpr int64_t kTexelBytes = 16;  // of the largest

std::string what_shown(const Binding& binding) {
  return binding.view == Binding::storage ? "storage buffer" : "texel buffer";
}

}  // namespace

Recorder::Window Recorder::window(const BoundStep& step, uint32_t buffer) const {
  const DevicePlace& whole = place(step, buffer);
  const int64_t begin = whole.offset / kVulkanAlignment * kVulkanAlignment;
  const int64_t shown = std::max<int64_t>(whole.offset + whole.bytes - begin, 1);
  return {whole.buffer, begin, aligned(shown, kTexelBytes)};
}

Status Recorder::describe() {
  recording_.launches_.resize(bound_.steps.size());
  int64_t numbers_end = 0;
  int64_t failures_end = 0;
  for (size_t i = 0; i < bound_.steps.size(); ++i) {
    const BoundStep& step = bound_.steps[i];
    if (step.is_copy()) continue;
    const Kernel& kernel = bound_.kernel(step);
    Recording::Launch& launch = recording_.launches_[i];
    WEFT_TRY_STATUS(set_grid(step, launch));
    WEFT_TRY_STATUS(set_numbers(step, launch));
    if (kernel.numbers_in_buffer) {
      launch.numbers_at = numbers_end;
      numbers_end += aligned(number_bytes(kernel), kVulkanAlignment);
    }
    if (!kernel.checks.empty()) {
      launch.failure_at = failures_end;
      failures_end += kVulkanAlignment;
    }
  }
  WEFT_TRY_STATUS(make_buffers(numbers_end, failures_end));
  WEFT_TRY_STATUS(make_descriptor_pool());
  for (size_t i = 0; i < bound_.steps.size(); ++i) {
    if (bound_.steps[i].is_copy()) continue;
    WEFT_TRY_STATUS(write_descriptors(bound_.steps[i], recording_.launches_[i]));
  }
  return ok();
}

Status Recorder::make_buffers(int64_t number_bytes_all, int64_t failure_bytes) {
  recording_.failure_bytes_ = failure_bytes;
  if (number_bytes_all > 0) {
    WEFT_TRY(recording_.numbers_, DeviceBuffer::create(device_, number_bytes_all,
                                                       MemoryUse::staging, "numbers of kernels"));
  }
  if (failure_bytes > 0) {
    WEFT_TRY(recording_.failures_, DeviceBuffer::create(device_, failure_bytes, MemoryUse::staging,
                                                        "failures of kernels"));
  }
  return ok();
}

// Two dimensions of about equal use: the kernel leaves out what is beyond its programs.
Status Recorder::set_grid(const BoundStep& step, Recording::Launch& launch) {
  const VulkanFacts& facts = device_.facts();
  const int64_t rows = (step.count + facts.max_groups[0] - 1) / facts.max_groups[0];
  if (rows > facts.max_groups[1] || step.count > UINT32_MAX) {
    return error({}, "graph @", bound_.name(), ": kernel ", bound_.kernel(step).name, " has ",
                 step.count, " programs, more than ", facts.name, " runs at once")
        .hint("bind smaller sizes, for example B=1");
  }
  launch.groups[0] = static_cast<uint32_t>((step.count + rows - 1) / rows);
  launch.groups[1] = static_cast<uint32_t>(rows);
  return ok();
}

Status Recorder::set_numbers(const BoundStep& step, Recording::Launch& launch) {
  const Kernel& kernel = bound_.kernel(step);
  const GraphPlan& plan = bound_.loaded->executable().graphs[bound_.graph];
  launch.numbers.push_back(static_cast<uint32_t>(step.count));
  for (uint32_t i = 0; i < kernel.buffers; ++i) {
    const int64_t from = place(step, i).offset % kVulkanAlignment + placed(step, i).offset;
    const PlanBuffer& buffer = plan.buffers[placed(step, i).buffer];
    const int64_t elements = from / byte_size(buffer.dtype);
    if (elements > INT32_MAX) {
      return error({}, "graph @", bound_.name(), ": kernel ", kernel.name, " begins at element ",
                   elements, " of ", buffer.name, ", beyond 31 bits");
    }
    launch.numbers.push_back(static_cast<uint32_t>(elements));
  }
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    launch.numbers.push_back(static_cast<uint32_t>(bound_.args[step.first_arg + i]));
  }
  return ok();
}

Status Recorder::make_descriptor_pool() {
  std::map<VkDescriptorType, uint32_t> counts;
  uint32_t sets = 0;
  for (const BoundStep& step : bound_.steps) {
    if (step.is_copy()) continue;
    ++sets;
    for (const DescriptorArray& item : descriptors_of(bound_.kernel(step))) {
      counts[item.type] += item.count;
    }
  }
  if (sets == 0) return ok();
  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : counts) sizes.push_back({type, count});
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = sets;
  info.poolSizeCount = static_cast<uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  return vk_status(
      vk().vkCreateDescriptorPool(device_.handle(), &info, nullptr, &recording_.descriptors_),
      "creating descriptors for graph @" + bound_.name());
}

// Of a binding whose buffer is shorter than its parts the rest show the first one again: nobody
// looks at them.
std::vector<Recorder::Window> Recorder::windows(const BoundStep& step,
                                                const Binding& binding) const {
  const Window whole = window(step, binding.buffer);
  if (binding.parts == 1) return {whole};
  const int64_t part = (byte_size(binding.dtype) * binding.width) << binding.part_bits;
  std::vector<Window> result;
  for (int64_t i = 0; i < binding.parts; ++i) {
    const bool there = i * part < whole.bytes;
    const int64_t from = there ? i * part : 0;
    // The last one shows what is left, however much.
    const int64_t most = there && i + 1 == binding.parts ? INT64_MAX : part;
    result.push_back({whole.buffer, whole.begin + from, std::min(most, whole.bytes - from)});
  }
  return result;
}

Status Recorder::check_range(const BoundStep& step, const Binding& binding,
                             const Window& shown) const {
  const VulkanFacts& facts = device_.facts();
  const bool storage = binding.view == Binding::storage;
  const int64_t texel = storage ? 1 : byte_size(binding.dtype) * binding.width;
  const int64_t most = storage ? facts.storage_range : facts.texel_elements * texel;
  if (shown.bytes <= most) return ok();
  const GraphPlan& plan = bound_.loaded->executable().graphs[bound_.graph];
  return error({}, "graph @", bound_.name(), ": kernel ", bound_.kernel(step).name, " sees ",
               plan.buffers[placed(step, binding.buffer).buffer].name, " of ", shown.bytes,
               " bytes as a ", what_shown(binding), ", ", facts.name, " shows at most ", most)
      .hint(
          "bind smaller sizes, or name them when compiling, for example --dim B=64: then kernels "
          "see it in parts");
}

Result<VkBufferView> Recorder::view(const BoundStep& step, const Binding& binding,
                                    const Window& shown) {
  const VkFormat format = texel_format(binding.dtype, binding.width);
  VkFormatProperties can{};
  if (format != VK_FORMAT_UNDEFINED) {
    vkGetPhysicalDeviceFormatProperties(device_.physical(), format, &can);
  }
  const VkFormatFeatureFlags needed = binding.view == Binding::texel
                                          ? VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT
                                          : VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT;
  if ((can.bufferFeatures & needed) != needed) {
    return error({}, "kernel ", bound_.kernel(step).name, " sees texels of ", int{binding.width},
                 " ", name(binding.dtype), ", which ", device_.facts().name, " does not have");
  }
  VkBufferView& known = views_[{shown.buffer, {shown.begin, {shown.bytes, format}}}];
  if (known != VK_NULL_HANDLE) return known;
  VkBufferViewCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
  info.buffer = shown.buffer;
  info.format = format;
  info.offset = static_cast<VkDeviceSize>(shown.begin);
  info.range = static_cast<VkDeviceSize>(shown.bytes);
  WEFT_TRY_STATUS(vk_status(vk().vkCreateBufferView(device_.handle(), &info, nullptr, &known),
                            "creating a view of a buffer"));
  recording_.views_.push_back(known);
  return known;
}

Status Recorder::allocate_set(const BoundStep& step, Recording::Launch& launch) {
  WEFT_TRY(const VulkanKernel* made, kernels_.get(step.step->program));
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = recording_.descriptors_;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &made->set;
  return vk_status(vk().vkAllocateDescriptorSets(device_.handle(), &info, &launch.set),
                   "creating descriptors");
}

Status Recorder::write_descriptors(const BoundStep& step, Recording::Launch& launch) {
  const Kernel& kernel = bound_.kernel(step);
  WEFT_TRY_STATUS(allocate_set(step, launch));
  const std::vector<DescriptorArray> descriptors = descriptors_of(kernel);
  std::vector<Shown> shown(descriptors.size());
  for (size_t i = 0; i < kernel.bindings.size(); ++i) {
    const Binding& binding = kernel.bindings[i];
    for (const Window& item : windows(step, binding)) {
      WEFT_TRY_STATUS(check_range(step, binding, item));
      shown[i].buffers.push_back({item.buffer, static_cast<VkDeviceSize>(item.begin),
                                  static_cast<VkDeviceSize>(item.bytes)});
      if (binding.view == Binding::storage) continue;
      WEFT_TRY(VkBufferView seen, view(step, binding, item));
      shown[i].views.push_back(seen);
    }
  }
  if (kernel.numbers_in_buffer) {
    shown[kernel.bindings.size()].buffers = {{recording_.numbers_.handle(),
                                              static_cast<VkDeviceSize>(launch.numbers_at),
                                              number_bytes(kernel)}};
    std::memcpy(recording_.numbers_.mapped() + launch.numbers_at, launch.numbers.data(),
                number_bytes(kernel));
  }
  if (launch.failure_at >= 0) {
    shown.back().buffers = {
        {recording_.failures_.handle(), static_cast<VkDeviceSize>(launch.failure_at), 4}};
  }
  update_set(launch.set, descriptors, shown);
  return ok();
}

void Recorder::update_set(VkDescriptorSet set, std::span<const DescriptorArray> descriptors,
                          std::span<const Shown> shown) {
  std::vector<VkWriteDescriptorSet> writes(descriptors.size());
  for (uint32_t i = 0; i < descriptors.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = descriptors[i].count;
    writes[i].descriptorType = descriptors[i].type;
    writes[i].pBufferInfo = shown[i].buffers.data();
    writes[i].pTexelBufferView = shown[i].views.data();
  }
  vk().vkUpdateDescriptorSets(device_.handle(), static_cast<uint32_t>(writes.size()), writes.data(),
                              0, nullptr);
}

}  // namespace weft
