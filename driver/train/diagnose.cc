// SPDX-License-Identifier: Apache-2.0
#include "driver/train/diagnose.h"

#include <cmath>

#include "ir/oracle/oracle.h"
#include "runtime/files/element_bytes.h"

namespace weft::train {
namespace {

Tensor tensor_of(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  return tensor_from_bytes(dtype, std::move(shape),
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// NaN and +inf; -inf alone is what masks are made of.
const char* bad_number(const Tensor& tensor) {
  for (double value : tensor.reals) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value) && value > 0) return "inf";
  }
  return nullptr;
}

Tensor rounded(const Tensor& tensor) {
  std::string bytes;
  append_bytes(tensor, tensor.dtype, bytes);
  return tensor_from_bytes(tensor.dtype, tensor.shape, bytes);
}

std::string place_of(const Node& node) {
  std::string text(name(node.op));
  for (const std::string& path : node.origin) text += " " + path;
  return text;
}

}  // namespace

Result<std::string> first_not_finite(const Module& module, const std::string& graph_name,
                                     const HostTensors& first, const HostTensors& second,
                                     const DimBinding& dims, TrainDevice& device) {
  const Graph* graph = module.find_graph(graph_name);
  if (graph == nullptr) return error({}, "there is no graph @", graph_name);
  TensorMap inputs;
  for (Value input : graph->inputs()) {
    const std::string& wanted = graph->input_name(input);
    auto found = first.find(wanted);
    if (found == first.end()) found = second.find(wanted);
    if (found == second.end()) return error({}, "there is no input '", wanted, "'");
    const HostTensor& given = found->second;
    inputs.emplace(wanted, tensor_of(given.dtype, given.shape, given.bytes));
    if (const char* bad = bad_number(inputs.at(wanted))) return cat("input ", wanted, ": ", bad);
  }
  TensorMap storage;
  for (const Storage& item : module.storage) {
    WEFT_TRY(std::span<const std::byte> bytes, device.storage(item.name));
    std::vector<int64_t> shape;
    for (const Dim& dim : item.type.shape) shape.push_back(dim.constant());
    storage.emplace(item.name, tensor_of(item.type.dtype, std::move(shape), bytes));
    if (const char* bad = bad_number(storage.at(item.name))) return cat("@", item.name, ": ", bad);
  }
  std::string found;
  auto look = [&](const Node& node, Tensor& result) {
    if (!found.empty() || !result.real()) return;
    result = rounded(result);
    if (const char* bad = bad_number(result)) found = cat(place_of(node), ": ", bad);
  };
  WEFT_TRY(OracleResult ignored, run_oracle(module, *graph, inputs, storage, dims, {}, look));
  if (found.empty()) found = "no op on the oracle: the device's own rounding made it";
  return found;
}

}  // namespace weft::train
