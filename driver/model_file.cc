// SPDX-License-Identifier: Apache-2.0
#include "driver/model_file.h"

#include <array>
#include <filesystem>

#include "ir/serial/serial.h"
#include "ir/support/file.h"
#include "ir/text/text.h"
#include "models/zoo.h"
#include "runtime/files/safetensors.h"

namespace weft {
namespace {

// Of files that are models, but in no form of the graph itself.
constexpr std::array<std::string_view, 2> kForeignEndings = {".weftx", ".onnx"};

Loc file_loc(const std::string& path) {
  return {std::make_shared<const SourceText>(SourceText{path, ""}), 0, 0, 0};
}

}  // namespace

Result<Module> load_model(const std::string& model) {
  using std::filesystem::file_type;
  std::error_code failure;
  file_type type = std::filesystem::status(model, failure).type();
  if (type == file_type::not_found || type == file_type::directory) {
    if (const Preset* preset = find_preset(model)) return preset->build();
  }
  if (type == file_type::not_found) {
    std::string hint = did_you_mean(model, preset_names());
    if (hint.empty()) hint = "`weft models` lists the presets";
    return error({}, "no file and no preset is called '", model, "'").hint(hint);
  }
  if (type == file_type::none) {
    return error(file_loc(model), "cannot be examined: ", failure.message());
  }
  if (type == file_type::directory) {
    return error(file_loc(model), "is a folder; a model is a .weft or .weftb file or a preset");
  }
  WEFT_TRY(std::string bytes, read_file(model, kMaxModuleBytes));
  if (looks_binary(bytes)) return read_binary(model, bytes);
  if (model.ends_with(".weftb")) return read_binary(model, bytes);  // says what is missing
  for (std::string_view ending : kForeignEndings) {
    if (model.ends_with(ending)) {
      return error(file_loc(model), "this build does not read ", ending, " files")
          .hint("a model is a .weft or .weftb file or a preset");
    }
  }
  return parse(model, std::move(bytes));
}

Status save_model(const Module& module, const std::string& path) {
  for (std::string_view ending : kForeignEndings) {
    if (path.ends_with(ending)) {
      return error(file_loc(path), "this build cannot write ", ending, " files")
          .hint("name a .weft or .weftb file");
    }
  }
  if (path.ends_with(".weftb")) return write_file(path, write_binary(module));
  return write_file(path, print(module));
}

std::string weights_file(const Module& module, const std::string& model, const std::string& given) {
  if (!given.empty() || module.weights.empty()) return given;
  const size_t slash = model.rfind('/');
  return slash == std::string::npos ? module.weights : model.substr(0, slash + 1) + module.weights;
}

Result<TensorMap> load_storage(const Module& module, const Graph* graph,
                               const StorageOptions& options) {
  WEFT_TRY(TensorMap values, initial_values(module, graph, options.seed, options.dims));
  StorageLookup storage(module);
  for (const Update& update : graph != nullptr ? graph->updates : std::vector<Update>()) {
    if (values.count(update.target) > 0) continue;
    WEFT_TRY(Tensor initial,
             initial_value(*storage.find(update.target), options.seed, options.dims));
    values.emplace(update.target, std::move(initial));
  }
  const std::string path = weights_file(module, options.model, options.weights);
  if (path.empty()) return values;

  WEFT_TRY(TensorMap stored, read_safetensors(path));
  for (auto& [name, value] : values) {
    auto found = stored.find(name);
    const Storage& declared = *storage.find(name);
    if (found == stored.end()) {
      if (declared.kind == Storage::state) continue;  // begins afresh
      std::vector<std::string> names;
      for (const auto& entry : stored) names.push_back(entry.first);
      return error(file_loc(path), "has no parameter '", name, "'").hint(did_you_mean(name, names));
    }
    if (found->second.dtype != value.dtype || found->second.shape != value.shape) {
      Type got{found->second.dtype, Shape(found->second.shape.begin(), found->second.shape.end())};
      return error(file_loc(path), "'", name, "' is ", got, ", the module says ", declared.type);
    }
    value = std::move(found->second);
  }
  return values;
}

}  // namespace weft
