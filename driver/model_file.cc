// SPDX-License-Identifier: Apache-2.0
#include "driver/model_file.h"

#include <filesystem>

#include "ir/serial/serial.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "models/zoo.h"
#include "runtime/files/safetensors.h"

namespace weft {
namespace {

Loc file_loc(const std::string& path) {
  return {std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
}

}  // namespace

Result<Module> load_model(const std::string& model) {
  std::error_code ignored;  // what cannot be looked at cannot be read either
  if (!std::filesystem::exists(model, ignored)) {
    if (const Preset* preset = find_preset(model)) return preset->build();
    std::string hint = did_you_mean(model, preset_names());
    if (hint.empty()) hint = "`weft models` lists the presets";
    return error({}, "no file and no preset is called '", model, "'").hint(hint);
  }
  if (std::filesystem::is_directory(model, ignored)) {
    return error(file_loc(model), "is a folder; a model is a .weft or .weftb file or a preset");
  }
  WEFT_TRY(std::string bytes, read_file(model, kMaxModuleBytes));
  if (looks_binary(bytes)) return read_binary(model, bytes);
  for (std::string_view ending : {".weftx", ".onnx"}) {
    if (std::string_view(model).ends_with(ending)) {
      return error(file_loc(model), "this build does not read ", ending, " files")
          .hint("a model is a .weft or .weftb file or a preset");
    }
  }
  return parse(model, std::move(bytes));
}

Status save_model(const Module& module, const std::string& path) {
  if (path.ends_with(".weftb")) return write_file(path, write_binary(module));
  return write_file(path, print(module));
}

Result<TensorMap> load_storage(const Module& module, const Graph& graph,
                               const StorageOptions& options) {
  WEFT_TRY(TensorMap values, initial_values(module, &graph, options.seed, options.dims));
  for (const Update& update : graph.updates) {
    if (values.count(update.target) > 0) continue;
    WEFT_TRY(Tensor initial,
             initial_value(*module.find_storage(update.target), options.seed, options.dims));
    values.emplace(update.target, std::move(initial));
  }
  std::string path = options.weights;
  if (path.empty() && !module.weights.empty()) {
    size_t slash = options.model.rfind('/');
    path = slash == std::string::npos ? module.weights
                                      : options.model.substr(0, slash + 1) + module.weights;
  }
  if (path.empty()) return values;

  WEFT_TRY(TensorMap stored, read_safetensors(path));
  for (auto& [name, value] : values) {
    auto found = stored.find(name);
    const Storage& storage = *module.find_storage(name);
    if (found == stored.end()) {
      if (storage.kind == Storage::state) continue;  // begins afresh
      std::vector<std::string> names;
      for (const auto& entry : stored) names.push_back(entry.first);
      return error(file_loc(path), "has no parameter '", name, "'").hint(did_you_mean(name, names));
    }
    if (found->second.dtype != value.dtype || found->second.shape != value.shape) {
      Type got{found->second.dtype, Shape(found->second.shape.begin(), found->second.shape.end())};
      return error(file_loc(path), "'", name, "' is ", got, ", the module says ", storage.type);
    }
    value = std::move(found->second);
  }
  return values;
}

}  // namespace weft
