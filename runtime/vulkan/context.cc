// SPDX-License-Identifier: Apache-2.0
#include "runtime/vulkan/context.h"

#include <cstring>
#include <utility>

namespace weft {

Result<std::unique_ptr<ContextDevice>> VulkanContext::create(LoadedPtr loaded,
                                                             const ContextOptions& options) {
  std::shared_ptr<VulkanDevice> device = options.vulkan;
  if (device == nullptr) {
    VulkanOptions open;
    open.device = options.device.empty() ? loaded->executable().device : options.device;
    open.cache_folder = options.cache_folder;
    open.self_test = true;  // code may rely on features
    WEFT_TRY(device, open_vulkan(open));
  }
  WEFT_TRY(loaded, fit_to_device(std::move(loaded), device->facts()));
  WEFT_TRY(std::shared_ptr<CommandPool> pool, CommandPool::create(device));
  WEFT_TRY(std::unique_ptr<VulkanKernels> kernels, VulkanKernels::create(loaded, device));
  auto memory = std::make_unique<VulkanStorage>(pool);
  VulkanStorage& seen = *memory;
  WEFT_TRY(StorageValues storage, StorageValues::create(loaded, options.seed, std::move(memory)));
  return std::unique_ptr<ContextDevice>(new VulkanContext(
      std::move(loaded), std::move(storage), std::move(pool), std::move(kernels), seen, options));
}

VulkanContext::VulkanContext(LoadedPtr loaded, StorageValues storage,
                             std::shared_ptr<CommandPool> pool,
                             std::unique_ptr<VulkanKernels> kernels, VulkanStorage& memory,
                             const ContextOptions& options)
    : ContextDevice(std::move(loaded), std::move(storage), options.pool),
      pool_vk_(std::move(pool)),
      kernels_(std::move(kernels)),
      memory_(memory),
      transfers_(pool_vk_),
      poison_(options.poison) {}

// Some bytes more than asked for: descriptors round up. The old one is given back first: both at
// once may be too much, and no recording of it is used again.
Status VulkanContext::grow(Growing& memory, int64_t bytes, MemoryUse use, const char* what) {
  if (bytes <= memory.bytes && memory.buffer.bytes() > 0) return ok();
  ++generation_;
  given_ = nullptr;
  for (auto& [bound, entry] : known_) entry.recording.reset();
  memory = Growing();
  WEFT_TRY(memory.buffer,
           DeviceBuffer::create(pool_vk_->device(),
                                aligned(bytes, kVulkanAlignment) + kVulkanAlignment, use, what));
  memory.bytes = bytes;
  return ok();
}

Status VulkanContext::prepare_constants(uint32_t graph) {
  if (constants_.contains(graph)) return ok();
  Constants made;
  int64_t end = 0;
  const GraphPlan& plan = loaded_->executable().graphs[graph];
  for (const PlanBuffer& buffer : plan.buffers) {
    made.offsets.push_back(end);
    end += aligned(static_cast<int64_t>(buffer.data.size()), kVulkanAlignment);
  }
  WEFT_TRY(made.buffer, DeviceBuffer::create(pool_vk_->device(), end + kVulkanAlignment,
                                             MemoryUse::device, "constants"));
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    WEFT_TRY_STATUS(transfers_.upload(made.buffer, made.offsets[i], plan.buffers[i].data));
  }
  constants_.emplace(graph, std::move(made));
  return ok();
}

Result<VulkanContext::Known*> VulkanContext::known(const BoundPtr& bound) {
  auto found = known_.find(bound.get());
  if (found != known_.end() && !found->second.bound.expired()) return &found->second;
  std::erase_if(known_, [&](const auto& entry) {
    const bool expired = entry.second.bound.expired();
    if (expired && given_ == &entry.second) given_ = nullptr;
    return expired;
  });
  Known made;
  made.bound = bound;
  int64_t end = 0;
  auto append = [&](const BoundTensor& tensor) {
    const int64_t offset = end;
    end = aligned(end + tensor.bytes, kVulkanAlignment);
    return offset;
  };
  for (const BoundTensor& tensor : bound->inputs) made.tensors.inputs.push_back(append(tensor));
  made.tensors.inputs_end = end;
  for (const BoundTensor& tensor : bound->outputs) made.tensors.outputs.push_back(append(tensor));
  made.tensors.outputs_end = end;
  return &known_.emplace(bound.get(), std::move(made)).first->second;
}

BindLimits VulkanContext::limits() const {
  BindLimits limits{kVulkanAlignment, INT32_MIN, INT32_MAX, kVulkanMostElements};
  if (const int64_t most = facts_of(pool_vk_->device()).loop_limit; most > 0)
    limits.most_iterations = most;
  return limits;
}

Status VulkanContext::prepare(const BoundPtr& bound) {
  WEFT_TRY_STATUS(prepare_storage(*bound));
  WEFT_TRY(Known * entry, known(bound));
  if (entry->recording != nullptr && entry->generation == generation()) return ok();
  entry->recording.reset();
  const int64_t tensor_bytes = entry->tensors.outputs_end;
  WEFT_TRY_STATUS(grow(arena_, bound->arena_bytes, MemoryUse::device, "arena"));
  WEFT_TRY_STATUS(grow(tensors_, tensor_bytes, MemoryUse::device, "inputs and outputs"));
  if (!tensors_.buffer.cached()) {
    WEFT_TRY_STATUS(grow(staging_, tensor_bytes, MemoryUse::staging, "staging memory"));
  }
  WEFT_TRY_STATUS(prepare_constants(bound->graph));
  return record(*bound, *entry);
}

DevicePlace VulkanContext::place(const BoundGraph& bound, const TensorPlaces& tensors,
                                 size_t number) const {
  const BoundBuffer& buffer = bound.buffers[number];
  switch (buffer.kind) {
    case PlanBuffer::input:
      return {tensors_.buffer.handle(), tensors.inputs[buffer.index], buffer.bytes};
    case PlanBuffer::output:
      return {tensors_.buffer.handle(), tensors.outputs[buffer.index], buffer.bytes};
    case PlanBuffer::storage: {
      const StoragePlace lies = storage_.place(buffer.index);
      return {memory_.buffer(lies.piece).handle(), lies.offset, buffer.bytes};
    }
    case PlanBuffer::constant: {
      const Constants& constants = constants_.at(bound.graph);
      return {constants.buffer.handle(), constants.offsets[number], buffer.bytes};
    }
    case PlanBuffer::arena: return {arena_.buffer.handle(), buffer.offset, buffer.bytes};
    case PlanBuffer::packed: break;
  }
  WEFT_CHECK(false, "check_simt_kernels has seen that there are no copies");
}

Status VulkanContext::record(const BoundGraph& bound, Known& entry) {
  RecordingPlan plan;
  plan.bound = &bound;
  for (size_t i = 0; i < bound.buffers.size(); ++i) {
    plan.places.push_back(place(bound, entry.tensors, i));
    if (poison_ && bound.buffers[i].kind == PlanBuffer::output) {
      plan.poison.push_back(plan.places.back());
    }
  }
  if (poison_) plan.poison.push_back({arena_.buffer.handle(), 0, bound.arena_bytes});
  plan.poison_dead = poison_;
  if (!tensors_.buffer.cached()) {
    plan.staged = {staging_.buffer.handle(), tensors_.buffer.handle(), entry.tensors.inputs_end,
                   entry.tensors.outputs_end};
  }
  WEFT_TRY(entry.recording, Recording::create(pool_vk_, *kernels_, std::move(plan)));
  entry.generation = generation();
  return ok();
}

Status VulkanContext::run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
                          std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) {
  memory_.forget_reads();
  const Known& entry = known_.at(bound.get());
  std::byte* const seen =
      tensors_.buffer.cached() ? tensors_.buffer.mapped() : staging_.buffer.mapped();
  for (size_t i = 0; i < inputs.size() && given_ != &entry; ++i) {
    if (inputs[i].bytes == 0 || inputs[i].data != nullptr) continue;
    return error({}, "input ", bound->inputs[i].name,
                 " has no data, and the last run was one of other sizes or another graph");
  }
  MovedTensors moved = {false, false};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes == 0 || inputs[i].data == nullptr) continue;
    std::memcpy(seen + entry.tensors.inputs[i], inputs[i].data, inputs[i].bytes);
    moved.inputs = true;
  }
  given_ = &entry;
  for (const MutableBytes& output : outputs) moved.outputs |= output.data != nullptr;
  WEFT_TRY_STATUS(entry.recording->run(moved, nanoseconds));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].bytes == 0 || outputs[i].data == nullptr) continue;
    std::memcpy(outputs[i].data, seen + entry.tensors.outputs[i], outputs[i].bytes);
  }
  return ok();
}

}  // namespace weft
