// Runs bound graphs on a Vulkan device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/context.h"
#include "runtime/vulkan/recording.h"
#include "runtime/vulkan/storage.h"

namespace weft {

class VulkanContext final : public ContextDevice {
 public:
  static Result<std::unique_ptr<ContextDevice>> create(LoadedPtr loaded,
                                                       const ContextOptions& options);

  BindLimits limits() const override;
  Status prepare(const BoundPtr& bound) override;
  Status run(const BoundPtr& bound, std::span<const ConstBytes> inputs,
             std::span<const MutableBytes> outputs, std::span<int64_t> nanoseconds) override;
  bool keeps_tensors() const override { return true; }
  int64_t arena_bytes() const override { return arena_.bytes; }

 private:
  // A buffer that grows; the largest binding's size serves all.
  struct Growing {
    DeviceBuffer buffer;
    int64_t bytes = 0;
  };
  // The caller's tensors in the memory of the device: inputs, then outputs.
  struct TensorPlaces {
    std::vector<int64_t> inputs;
    std::vector<int64_t> outputs;
    int64_t inputs_end = 0;
    int64_t outputs_end = 0;
  };
  struct Constants {
    DeviceBuffer buffer;
    std::vector<int64_t> offsets;  // one per buffer of the plan; of constants
  };
  struct Known {
    std::weak_ptr<const BoundGraph> bound;  // dead: the context has forgotten it
    TensorPlaces tensors;
    std::unique_ptr<Recording> recording;
    uint64_t generation = 0;
  };

  VulkanContext(LoadedPtr loaded, StorageValues storage, std::shared_ptr<CommandPool> pool,
                std::unique_ptr<VulkanKernels> kernels, VulkanStorage& memory,
                const ContextOptions& options);
  uint64_t generation() const { return generation_ + memory_.generation(); }
  Status grow(Growing& memory, int64_t bytes, MemoryUse use, const char* what);
  Status prepare_constants(uint32_t graph);
  Result<Known*> known(const BoundPtr& bound);
  Status record(const BoundGraph& bound, Known& entry);
  DevicePlace place(const BoundGraph& bound, const TensorPlaces& tensors, size_t buffer) const;

  std::shared_ptr<CommandPool> pool_vk_;  // shared_ptr: see CommandPool
  std::unique_ptr<VulkanKernels> kernels_;
  VulkanStorage& memory_;  // of storage_
  Transfers transfers_;
  bool poison_ = false;
  Growing arena_;
  Growing tensors_;  // what kernels see
  Growing staging_;  // the same, for the host, where it does not see tensors_ or reads it slowly
  uint64_t generation_ = 0;
  const Known* given_ = nullptr;             // whose inputs are in tensors_
  std::map<uint32_t, Constants> constants_;  // by graph
  std::map<const BoundGraph*, Known> known_;
};

}  // namespace weft
