// SPDX-License-Identifier: Apache-2.0
#include "tools/tensors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/files/npy.h"
#include "tools/cli.h"

namespace weft::cli {

Result<TensorMap> read_inputs(const Module& module, const Graph& graph,
                              const std::vector<std::string>& given, const DimBinding& dims) {
  std::vector<std::string> names;
  for (Value input : graph.inputs()) names.push_back(graph.input_name(input));
  std::map<std::string, std::string> paths;
  TensorMap headers;
  for (const std::string& text : given) {
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return error({}, "graph @", graph.name(), " has no input '", name, "'")
          .hint(did_you_mean(name, names));
    }
    if (!paths.emplace(name, text.substr(equals + 1)).second) {
      return error({}, "--input ", name, " is given twice");
    }
    WEFT_TRY(headers[name], read_npy_header(paths[name]));
  }
  WEFT_TRY([[maybe_unused]] DimBinding known, bind_known_dims(module, graph, headers, {}, dims));
  TensorMap inputs;
  for (const auto& [name, path] : paths) {
    WEFT_TRY(inputs[name], read_npy(path));
  }
  return inputs;
}

Status check_output_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.find('/') == std::string::npos && name.find('\0') == std::string::npos) continue;
    return error({}, "output '", name, "' cannot be saved: its name is a path");
  }
  return ok();
}

Status save_outputs(const TensorMap& outputs, const std::string& folder) {
  if (folder.empty()) return ok();
  WEFT_TRY_STATUS(make_folder(folder));
  for (const auto& [name, tensor] : outputs) {
    WEFT_TRY_STATUS(write_npy(folder + "/" + name + ".npy", tensor));
  }
  return ok();
}

std::string shape_text(const Tensor& tensor) {
  return Type{tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())}.str();
}

std::string summary(const Tensor& tensor) {
  if (tensor.size() == 0) return "empty";
  if (tensor.size() == 1) {
    return tensor.real() ? format_real(tensor.reals[0]) : std::to_string(tensor.integers[0]);
  }
  auto nans = std::count_if(tensor.reals.begin(), tensor.reals.end(),
                            [](double r) { return std::isnan(r); });
  if (nans > 0) return cat(nans, " of ", tensor.size(), " elements are NaN");
  double low = tensor.at(0);
  double high = tensor.at(0);
  double sum = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    low = std::min(low, tensor.at(i));
    high = std::max(high, tensor.at(i));
    sum += tensor.at(i);
  }
  return cat("mean ", sum / static_cast<double>(tensor.size()), ", from ", low, " to ", high);
}

}  // namespace weft::cli
