// What a trainer asks of a device: run a graph of the module on tensors of the host, read and write
// its storage. One file per kind beside this one; the rest of the trainer knows none of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/simt/form.h"
#include "driver/data/batches.h"
#include "ir/graph/module.h"
#include "passes/pass.h"
#include "runtime/storage.h"

namespace weft::train {

// Elements one after the other, little endian.
using HostTensor = data::BatchInput;
using HostTensors = std::map<std::string, HostTensor>;
double real_at(const HostTensor& tensor, size_t at);  // of f32 or f64

struct DeviceOptions {
  std::string device = "cpu";
  std::string target_cpu = "native";
  int threads = 0;    // 0 = all cores; the bits do not depend on it
  uint64_t seed = 1;  // of initial values
  simt::KernelForm form = {};
  // The largest that will be bound, as far as that is known: Vulkan devices show kernels a tensor
  // beyond some size in parts only, which has to be known when kernels are made.
  DimBinding sizes = {};
};

struct DeviceMemory {
  int64_t storage = 0;  // bytes of parameters and state
  int64_t arena = 0;    // of everything between, for the largest sizes so far
};

class TrainDevice {
 public:
  virtual ~TrainDevice() = default;

  // Runs a graph. Its inputs are looked for in `first`, then in `second`; outputs are put into
  // `outputs`, whose memory is used again. State is updated.
  virtual Status run(const std::string& graph, const HostTensors& first, const HostTensors& second,
                     const DimBinding& dims, HostTensors& outputs) = 0;

  // Parameters and state, as bytes of their types. What is returned is good until the next call.
  virtual Result<std::span<const std::byte>> storage(const std::string& name) = 0;
  virtual Status set_storage(const std::string& name, std::span<const std::byte> bytes) = 0;

  // State of symbolic shape, and copies within it: as Context has them.
  virtual Status resize_storage(const std::string& name, const std::vector<int64_t>& shape) = 0;
  virtual Status copy_within_storage(const std::string& name,
                                     std::span<const StorageCopy> copies) = 0;

  virtual DeviceMemory memory() const = 0;
  // Bytes that the graph needs at these sizes, beside storage. Nothing is run.
  virtual Result<int64_t> arena_bytes(const std::string& graph, const DimBinding& dims) = 0;
  virtual int threads() const = 0;
  // Calls `work(begin, end)` for pieces of 0 to `count`, at once where the device has threads of
  // the host: for what is done between two runs.
  virtual void parallel(int64_t count, const std::function<void(int64_t, int64_t)>& work) = 0;
};

// The module differentiated as `train` asks (PassOptions::train): what the oracle runs as it is,
// and what open_device takes.
Result<Module> differentiate_for(Module module, const TrainRequest& train);

// Makes all graphs of a differentiated module ready to run.
Result<std::unique_ptr<TrainDevice>> open_device(const Module& module,
                                                 const DeviceOptions& options);

// Each device, for open_device.
Result<std::unique_ptr<TrainDevice>> open_compiled(const Module& module,
                                                   const DeviceOptions& options);
Result<std::unique_ptr<TrainDevice>> open_oracle(const Module& module,
                                                 const DeviceOptions& options);

}  // namespace weft::train
