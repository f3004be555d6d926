// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensors.h"

#include <algorithm>

#include "ir/oracle/elements.h"
#include "runtime/files/element_bytes.h"

namespace weft {
namespace {

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<DimBinding> dims_of_inputs(const LoadedExecutable& loaded, std::string_view graph,
                                  const TensorMap& inputs, const DimBinding& given) {
  WEFT_TRY(uint32_t number, loaded.find_graph(graph));
  const GraphInterface& interface = loaded.executable().interfaces[number];
  Module module;
  module.dims = loaded.executable().dims;
  Graph declared(interface.name);
  std::vector<std::string> names;
  for (const TensorSlot& slot : interface.inputs) {
    if (!inputs.contains(slot.name)) {
      return error({}, "input ", slot.name, " of graph @", interface.name,
                   " is missing: ", slot.type);
    }
    declared.add_input(slot.name, slot.type);
    names.push_back(slot.name);
  }
  for (const auto& [name, tensor] : inputs) {
    if (std::ranges::find(names, name) == names.end()) {
      return error({}, "graph @", interface.name, " has no input ", name)
          .hint(did_you_mean(name, names));
    }
  }
  return bind_dims(module, declared, inputs, {}, given);
}

Result<TensorMap> run_on_tensors(Context& context, std::string_view graph, const TensorMap& inputs,
                                 const DimBinding& given) {
  WEFT_TRY(DimBinding dims, dims_of_inputs(context.loaded(), graph, inputs, given));
  WEFT_TRY(BoundPtr bound, context.bind(graph, dims));
  std::vector<std::string> input_bytes(bound->inputs.size());
  std::vector<ConstBytes> in;
  for (size_t i = 0; i < bound->inputs.size(); ++i) {
    const BoundTensor& slot = bound->inputs[i];
    append_bytes(inputs.at(slot.name), slot.dtype, input_bytes[i]);
    in.push_back({input_bytes[i].data(), input_bytes[i].size()});
  }
  std::vector<std::string> output_bytes;
  for (const BoundTensor& slot : bound->outputs) {
    output_bytes.emplace_back(static_cast<size_t>(slot.bytes), '\0');
  }
  std::vector<MutableBytes> out;
  for (std::string& bytes : output_bytes) out.push_back({bytes.data(), bytes.size()});
  WEFT_TRY_STATUS(context.run(bound, in, out));
  TensorMap outputs;
  for (size_t i = 0; i < bound->outputs.size(); ++i) {
    const BoundTensor& slot = bound->outputs[i];
    outputs.emplace(slot.name, tensor_from_bytes(slot.dtype, slot.shape, output_bytes[i]));
  }
  return outputs;
}

Status set_storage_tensor(Context& context, const std::string& name, const Tensor& value) {
  std::optional<uint32_t> index = context.loaded().find_storage(name);
  if (index) {
    WEFT_TRY(std::vector<int64_t> shape, context.storage_shape(name));
    const Type& type = context.loaded().executable().storage[*index].type;
    if (value.dtype != type.dtype || value.shape != shape) {
      return error({}, "@", name, " is ", type, ", got ", weft::name(value.dtype),
                   str(value.shape));
    }
  }
  std::string bytes;
  append_bytes(value, value.dtype, bytes);
  return context.set_storage(name, as_bytes(bytes));
}

Result<Tensor> storage_tensor(Context& context, const std::string& name) {
  WEFT_TRY(std::span<const std::byte> bytes, context.storage(name));
  WEFT_TRY(std::vector<int64_t> shape, context.storage_shape(name));
  std::optional<uint32_t> index = context.loaded().find_storage(name);
  DType dtype = context.loaded().executable().storage[*index].type.dtype;
  return tensor_from_bytes(dtype, std::move(shape), as_text(bytes));
}

}  // namespace weft
