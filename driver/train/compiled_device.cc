// Training on compiled code, on the CPU or a Vulkan device: one executable with all graphs of a
// run, in one context.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "driver/cache_folder.h"
#include "driver/executable_cache.h"
#include "driver/train/available_memory.h"
#include "driver/train/device.h"
#include "driver/tune.h"
#include "driver/vulkan_devices.h"
#include "runtime/context.h"

namespace weft::train {
namespace {

class CompiledDevice : public TrainDevice {
 public:
  // `most`: bytes that the device gives at all. `in_host_memory`: it takes them from the host.
  CompiledDevice(LoadedPtr loaded, Context context, int64_t most, bool in_host_memory)
      : loaded_(std::move(loaded)),
        context_(std::move(context)),
        most_(most),
        in_host_memory_(in_host_memory) {}

  Status run(const std::string& graph, const HostTensors& first, const HostTensors& second,
             const DimBinding& dims, HostTensors& outputs) override {
    WEFT_TRY(BoundPtr bound, bind(graph, dims));
    inputs_.clear();
    for (const BoundTensor& input : bound->inputs) {
      auto found = first.find(input.name);
      if (found == first.end()) found = second.find(input.name);
      if (found == second.end()) return missing(graph, input.name);
      WEFT_TRY_STATUS(check_type(input, found->second));
      inputs_.push_back({found->second.bytes.data(), found->second.bytes.size()});
    }
    outputs_.clear();
    for (const BoundTensor& output : bound->outputs) {
      HostTensor& tensor = outputs[output.name];
      tensor.dtype = output.dtype;
      if (tensor.shape != output.shape) tensor.shape = output.shape;
      tensor.bytes.resize(static_cast<size_t>(output.bytes));
      outputs_.push_back({tensor.bytes.data(), tensor.bytes.size()});
    }
    return context_.run(bound, inputs_, outputs_);
  }

  Result<std::span<const std::byte>> storage(const std::string& name) override {
    return context_.storage(name);
  }
  Status set_storage(const std::string& name, std::span<const std::byte> bytes) override {
    return context_.set_storage(name, bytes);
  }
  Status resize_storage(const std::string& name, const std::vector<int64_t>& shape) override {
    return context_.resize_storage(name, shape);
  }
  Status copy_within_storage(const std::string& name,
                             std::span<const StorageCopy> copies) override {
    return context_.copy_within_storage(name, copies);
  }
  DeviceMemory memory() const override {
    ContextReport report = context_.report();
    return {report.storage_bytes, report.arena_bytes};
  }
  Result<int64_t> arena_bytes(const std::string& graph, const DimBinding& dims) override {
    WEFT_TRY(uint32_t number, loaded_->find_graph(graph));
    WEFT_TRY(BoundGraph bound, bind_graph(loaded_, number, dims));
    return bound.arena_bytes + bound.scratch_bytes * context_.threads();
  }
  int threads() const override { return context_.threads(); }
  void parallel(int64_t count, const std::function<void(int64_t, int64_t)>& work) override {
    context_.parallel(count, work);
  }

 private:
  // The binding of the last run of the same graph, if the sizes are the same.
  Result<BoundPtr> bind(const std::string& graph, const DimBinding& dims) {
    BoundPtr& last = last_[graph];
    if (last != nullptr && last->dims == dims) return last;
    if (!is_within(dims, largest_[graph])) {
      WEFT_TRY(const int64_t bytes, arena_bytes(graph, dims));
      WEFT_TRY_STATUS(check_memory(graph, dims, bytes, available()));
      std::erase_if(largest_[graph],
                    [&](const DimBinding& known) { return is_within(known, {dims}); });
      largest_[graph].push_back(dims);
    }
    WEFT_TRY(last, context_.bind(graph, dims));
    return last;
  }

  // An arena that is too small goes before the next one comes.
  int64_t available() const {
    const ContextReport report = context_.report();
    const int64_t left = most_ - report.storage_bytes;
    return in_host_memory_ ? std::min(left, available_bytes() + report.arena_bytes) : left;
  }

  // Whether each size is at most that of sizes that fit into memory. To know this is much cheaper
  // than to plan an arena, and in decoding rows leave at almost every step.
  static bool is_within(const DimBinding& dims, const std::vector<DimBinding>& fitting) {
    return std::ranges::any_of(fitting, [&](const DimBinding& larger) {
      return std::ranges::all_of(dims, [&](const auto& entry) {
        auto found = larger.find(entry.first);
        return found != larger.end() && entry.second <= found->second;
      });
    });
  }

  static Error missing(const std::string& graph, const std::string& name) {
    return error({}, "the data has nothing for input '", name, "' of @", graph);
  }

  static Status check_type(const BoundTensor& input, const HostTensor& tensor) {
    if (tensor.dtype == input.dtype && tensor.shape == input.shape) return ok();
    return error({}, "input '", input.name, "': expected ",
                 Type{input.dtype, Shape(input.shape.begin(), input.shape.end())}, ", got ",
                 Type{tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())});
  }

  LoadedPtr loaded_;
  Context context_;
  int64_t most_;
  bool in_host_memory_;
  std::map<std::string, BoundPtr> last_;
  std::map<std::string, std::vector<DimBinding>> largest_;  // by graph; they fit into memory
  std::vector<ConstBytes> inputs_;  // kept between runs, so that none allocates
  std::vector<MutableBytes> outputs_;
};

}  // namespace

Result<std::unique_ptr<TrainDevice>> open_compiled(const Module& module,
                                                   const DeviceOptions& options) {
  CompileRequest request;
  request.device = options.device;
  request.target_cpu = options.target_cpu;
  request.form = options.form;
  if (is_vulkan(options.device)) request.sizes = options.sizes;
  request.cache_folder = user_cache_folder();
  request.choose_knobs = tuned_knobs(request, options.threads);
  WEFT_TRY(CompiledExecutable compiled, compile_executable(module, request));
  WEFT_TRY(LoadedPtr loaded, LoadedExecutable::load(std::move(compiled.executable)));
  ContextOptions context;
  context.threads = options.threads;
  context.seed = options.seed;
  int64_t most = INT64_MAX;
  bool in_host_memory = true;
  if (is_vulkan(options.device)) {
    WEFT_TRY(OpenVulkan opened, open_vulkan_device(options.device));
    context.vulkan = std::move(opened.device);
    most = opened.memory_bytes;
    in_host_memory = opened.in_host_memory;
  }
  WEFT_TRY(Context made, Context::create(loaded, context));
  return std::unique_ptr<TrainDevice>(
      std::make_unique<CompiledDevice>(std::move(loaded), std::move(made), most, in_host_memory));
}

}  // namespace weft::train
