// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/cpu/context.h"
#ifdef WEFT_HAS_VULKAN
#include "runtime/vulkan/context.h"
#endif

namespace weft {
namespace {

constexpr size_t kKnownBindings = 256;

bool poison_asked() {
  const char* value = std::getenv("WEFT_POISON");
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

Result<std::unique_ptr<ContextDevice>> create_device(LoadedPtr loaded,
                                                     const ContextOptions& options) {
  if (loaded->executable().device == "cpu") return CpuContext::create(std::move(loaded), options);
#ifdef WEFT_HAS_VULKAN
  return VulkanContext::create(std::move(loaded), options);
#else
  return error({}, "this build of Weft has no Vulkan: it cannot run on device '",
               loaded->executable().device, "'")
      .hint("install libvulkan-dev, libvulkan-volk-dev and glslang-tools, and build again");
#endif
}

}  // namespace

Result<Context> Context::create(LoadedPtr loaded, ContextOptions options) {
  if (options.pool == nullptr) {
    WEFT_TRY(int threads, thread_count(options.threads));
    options.pool = std::make_shared<Pool>(threads);
  }
  options.poison = options.poison || poison_asked();
  WEFT_TRY(std::unique_ptr<ContextDevice> device, create_device(std::move(loaded), options));
  return Context(std::move(device));
}

ContextReport Context::report() const {
  return {device_->storage().bytes(),
          device_->packed_bytes(),
          device_->arena_bytes(),
          bindings_,
          runs_,
          0};
}

Result<BoundPtr> Context::bind(std::string_view graph, const DimBinding& dims) {
  WEFT_TRY(uint32_t number, loaded().find_graph(graph));
  std::pair<uint32_t, DimBinding> key(number, dims);
  if (auto found = known_.find(key); found != known_.end()) {
    found->second.used = ++clock_;
    return found->second.bound;
  }
  WEFT_TRY(BoundGraph made, bind_graph(device_->loaded_ptr(), number, dims, device_->limits()));
  auto bound = std::make_shared<const BoundGraph>(std::move(made));
  WEFT_TRY_STATUS(device_->prepare(bound));
  ranges_.reserve(bound->inputs.size() + bound->outputs.size());
  remember(std::move(key), bound);
  return BoundPtr(std::move(bound));
}

void Context::remember(std::pair<uint32_t, DimBinding> key, BoundPtr bound) {
  if (known_.size() >= kKnownBindings) {
    known_.erase(
        std::ranges::min_element(known_, {}, [](const auto& entry) { return entry.second.used; }));
  }
  known_.emplace(std::move(key), Known{std::move(bound), ++clock_});
  ++bindings_;
}

Status Context::run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
                    std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) {
  if (bound == nullptr || bound->loaded.get() != &loaded()) {
    return error({}, "the binding is not one of this context's executable").hint("bind it here");
  }
  if (!nanoseconds.empty() && nanoseconds.size() != bound->steps.size()) {
    return error({}, nanoseconds.size(), " times for ", bound->steps.size(), " steps");
  }
  WEFT_TRY_STATUS(check_tensors(*bound, inputs, outputs));
  WEFT_TRY_STATUS(device_->prepare(bound));
  ++runs_;
  return device_->run(bound, inputs, outputs, nanoseconds);
}

Status ContextDevice::prepare_storage(const BoundGraph& bound) {
  for (uint32_t index : loaded_->facts(bound.graph).fixed_storage) {
    if (!storage_.filled(index)) WEFT_TRY_STATUS(storage_.fill(index, *pool_));
  }
  for (const BoundStorage& used : bound.storage) {
    if (storage_.ready(used.index, used.shape)) continue;
    WEFT_TRY_STATUS(storage_.prepare(used.index, used.shape, *pool_));
  }
  return ok();
}

}  // namespace weft
