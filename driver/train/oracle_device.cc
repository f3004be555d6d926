// Training on the oracle: every number in double, state rounded to its type after each step.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "driver/train/device.h"
#include "ir/oracle/oracle.h"
#include "runtime/files/element_bytes.h"

namespace weft::train {
namespace {

Tensor tensor_of(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  return tensor_from_bytes(dtype, std::move(shape),
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string bytes_of(const Tensor& tensor) {
  std::string bytes;
  append_bytes(tensor, tensor.dtype, bytes);
  return bytes;
}

class OracleDevice : public TrainDevice {
 public:
  OracleDevice(Module module, TensorMap storage)
      : module_(std::move(module)), storage_(std::move(storage)) {}

  Status run(const std::string& name, const HostTensors& first, const HostTensors& second,
             const DimBinding& dims, HostTensors& outputs) override {
    const Graph* graph = module_.find_graph(name);
    if (graph == nullptr) return error({}, "there is no graph @", name);
    TensorMap inputs;
    for (Value input : graph->inputs()) {
      const std::string& wanted = graph->input_name(input);
      auto found = first.find(wanted);
      if (found == first.end()) found = second.find(wanted);
      if (found == second.end()) {
        return error({}, "the data has nothing for input '", wanted, "' of @", name);
      }
      const HostTensor& given = found->second;
      inputs.emplace(wanted, tensor_of(given.dtype, given.shape, given.bytes));
    }
    WEFT_TRY(OracleResult result, run_oracle(module_, *graph, inputs, storage_, dims));
    for (auto& [target, value] : result.updates) {
      storage_[target] = tensor_from_bytes(value.dtype, value.shape, bytes_of(value));
    }
    for (const auto& [output, value] : result.outputs) {
      const std::string bytes = bytes_of(value);
      HostTensor& tensor = outputs[output];
      tensor = {value.dtype, value.shape, std::vector<std::byte>(bytes.size())};
      std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
    }
    return ok();
  }

  Result<std::span<const std::byte>> storage(const std::string& name) override {
    auto found = storage_.find(name);
    if (found == storage_.end()) return error({}, "there is no storage @", name);
    bytes_ = bytes_of(found->second);
    return std::span(reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size());
  }

  Status set_storage(const std::string& name, std::span<const std::byte> bytes) override {
    auto found = storage_.find(name);
    if (found == storage_.end()) return error({}, "there is no storage @", name);
    Tensor& value = found->second;
    if (static_cast<int64_t>(bytes.size()) != value.size() * byte_size(value.dtype)) {
      return error({}, "@", name, " takes ", value.size() * byte_size(value.dtype), " bytes, not ",
                   bytes.size());
    }
    value = tensor_of(value.dtype, value.shape, bytes);
    return ok();
  }

  Status resize_storage(const std::string& name, const std::vector<int64_t>& shape) override {
    const Storage* storage = module_.find_storage(name);
    if (storage == nullptr || storage->type.rank() != shape.size() ||
        element_count(storage->type.shape).is_constant()) {
      return error({}, "there is no storage @", name, " of ", shape.size(), " axes to be sized");
    }
    Tensor fresh = Tensor::zeros(storage->type.dtype, shape);
    auto old = storage_.find(name);
    const bool rows_only = old != storage_.end() && std::equal(shape.begin() + 1, shape.end(),
                                                               old->second.shape.begin() + 1);
    std::string bytes = bytes_of(fresh);
    if (rows_only) {
      const std::string kept = bytes_of(old->second);
      bytes.replace(0, std::min(bytes.size(), kept.size()), kept, 0,
                    std::min(bytes.size(), kept.size()));
    }
    storage_[name] = tensor_from_bytes(storage->type.dtype, shape, bytes);
    return ok();
  }

  Status copy_within_storage(const std::string& name,
                             std::span<const StorageCopy> copies) override {
    auto found = storage_.find(name);
    if (found == storage_.end()) return error({}, "there is no storage @", name);
    std::string bytes = bytes_of(found->second);
    const auto size = static_cast<int64_t>(bytes.size());
    for (const StorageCopy& copy : copies) {
      if (std::min(copy.from, copy.to) < 0 || std::max(copy.from, copy.to) > size - copy.bytes) {
        return error({}, "a copy leaves @", name);
      }
      std::memmove(bytes.data() + copy.to, bytes.data() + copy.from,
                   static_cast<size_t>(copy.bytes));
    }
    found->second = tensor_from_bytes(found->second.dtype, found->second.shape, bytes);
    return ok();
  }

  DeviceMemory memory() const override {
    int64_t elements = 0;
    for (const auto& [name, value] : storage_) elements += value.size();
    return {elements * static_cast<int64_t>(sizeof(double)), 0};
  }
  // The oracle frees what nobody reads any more as it goes, and does not count.
  Result<int64_t> arena_bytes(const std::string&, const DimBinding&) override { return int64_t{0}; }
  void parallel(int64_t count, const std::function<void(int64_t, int64_t)>& work) override {
    work(0, count);
  }
  int threads() const override { return 1; }

 private:
  const Module module_;
  TensorMap storage_;
  std::string bytes_;  // of the storage asked for last
};

}  // namespace

Result<std::unique_ptr<TrainDevice>> open_oracle(const Module& module,
                                                 const DeviceOptions& options) {
  TensorMap storage;  // what has a symbolic shape comes with resize_storage
  for (const Storage& item : module.storage) {
    if (!element_count(item.type.shape).is_constant()) continue;
    WEFT_TRY(storage[item.name], initial_value(item, options.seed));
  }
  for (auto& [name, value] : storage) {
    value = tensor_from_bytes(value.dtype, value.shape, bytes_of(value));
  }
  return std::unique_ptr<TrainDevice>(std::make_unique<OracleDevice>(module, std::move(storage)));
}

}  // namespace weft::train
