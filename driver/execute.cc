// SPDX-License-Identifier: Apache-2.0
#include "driver/execute.h"

#include <cstring>

#include "runtime/files/element_bytes.h"

namespace weft {
namespace {

Result<Memory> to_memory(const Tensor& tensor, const std::string& what) {
  std::string bytes;
  append_bytes(tensor, tensor.dtype, bytes);
  WEFT_TRY(Memory memory, Memory::allocate(static_cast<int64_t>(bytes.size()), what));
  if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
  return memory;
}

std::string_view text_of(const std::byte* data, size_t bytes) {
  return {reinterpret_cast<const char*>(data), bytes};
}

}  // namespace

Module interface_module(const Executable& executable) {
  Module module;
  module.name = executable.module_name;
  module.dims = executable.dims;
  module.storage = executable.storage;
  for (const GraphInterface& interface : executable.interfaces) {
    Graph graph(interface.name);
    for (const TensorSlot& input : interface.inputs) graph.add_input(input.name, input.type);
    module.graphs.push_back(std::move(graph));
  }
  return module;
}

Result<Executor> Executor::create(Executable executable, const ContextOptions& options) {
  WEFT_TRY(LoadedPtr loaded, LoadedExecutable::load(std::move(executable)));
  return create(std::move(loaded), options);
}

Result<Executor> Executor::create(LoadedPtr loaded, const ContextOptions& options) {
  WEFT_TRY(Context context, Context::create(std::move(loaded), options));
  return Executor(std::move(context));
}

Status Executor::set_storage(const TensorMap& values) {
  for (const auto& [name, tensor] : values) {
    const std::optional<uint32_t> index = context_.loaded().find_storage(name);
    if (index && !element_count(executable().storage[*index].type.shape).is_constant()) {
      WEFT_TRY_STATUS(context_.resize_storage(name, tensor.shape));
    }
    std::string bytes;
    append_bytes(tensor, tensor.dtype, bytes);
    WEFT_TRY_STATUS(context_.set_storage(
        name, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
  }
  return ok();
}

Result<Tensor> Executor::storage(const std::string& name) {
  WEFT_TRY(std::span<const std::byte> bytes, context_.storage(name));
  WEFT_TRY(std::vector<int64_t> shape, context_.storage_shape(name));
  for (const Storage& storage : executable().storage) {
    if (storage.name != name) continue;
    return tensor_from_bytes(storage.type.dtype, std::move(shape),
                             text_of(bytes.data(), bytes.size()));
  }
  return error({}, "there is no storage @", name);
}

Result<PreparedRun> Executor::prepare(const std::string& graph, const TensorMap& inputs,
                                      const DimBinding& dims) {
  PreparedRun prepared;
  WEFT_TRY(prepared.bound, context_.bind(graph, dims));
  for (const BoundTensor& input : prepared.bound->inputs) {
    auto found = inputs.find(input.name);
    if (found == inputs.end()) {
      return error({}, "input ", input.name, " of @", graph, " is missing")
          .hint("--input " + input.name + "=FILE.npy");
    }
    if (found->second.dtype != input.dtype || found->second.shape != input.shape) {
      const Tensor& got = found->second;
      return error({}, "input ", input.name, ": expected ",
                   Type{input.dtype, Shape(input.shape.begin(), input.shape.end())}, ", got ",
                   Type{got.dtype, Shape(got.shape.begin(), got.shape.end())});
    }
    WEFT_TRY(Memory memory, to_memory(found->second, "input " + input.name));
    prepared.inputs.push_back(std::move(memory));
  }
  for (const BoundTensor& output : prepared.bound->outputs) {
    WEFT_TRY(Memory memory, Memory::allocate(output.bytes, "output " + output.name));
    prepared.outputs.push_back(std::move(memory));
  }
  return prepared;
}

Status Executor::run(PreparedRun& prepared, std::span<int64_t> nanoseconds) {
  std::vector<ConstBytes> inputs;
  for (const Memory& memory : prepared.inputs) {
    const void* data = prepared.kept ? nullptr : memory.data();
    inputs.push_back({data, static_cast<size_t>(memory.bytes())});
  }
  std::vector<MutableBytes> outputs;
  for (const Memory& memory : prepared.outputs) {
    void* data = prepared.kept ? nullptr : memory.data();
    outputs.push_back({data, static_cast<size_t>(memory.bytes())});
  }
  return context_.run(prepared.bound, inputs, outputs, nanoseconds);
}

TensorMap Executor::outputs(const PreparedRun& prepared) const {
  TensorMap result;
  for (size_t i = 0; i < prepared.outputs.size(); ++i) {
    const BoundTensor& output = prepared.bound->outputs[i];
    result.emplace(output.name, tensor_from_bytes(output.dtype, output.shape,
                                                  text_of(prepared.outputs[i].data(),
                                                          static_cast<size_t>(output.bytes))));
  }
  return result;
}

Result<OracleResult> run_once(Executor& executor, const Graph& graph, const TensorMap& inputs,
                              const TensorMap& storage, const DimBinding& dims) {
  WEFT_TRY_STATUS(executor.set_storage(storage));
  WEFT_TRY(PreparedRun prepared, executor.prepare(graph.name(), inputs, dims));
  WEFT_TRY_STATUS(executor.run(prepared));
  OracleResult result;
  result.outputs = executor.outputs(prepared);
  for (const Update& update : graph.updates) {
    WEFT_TRY(Tensor value, executor.storage(update.target));
    result.updates.emplace(update.target, std::move(value));
  }
  return result;
}

}  // namespace weft
