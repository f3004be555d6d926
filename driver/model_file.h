// From what a user calls a MODEL (a file or the name of a preset) to a module, and back to a file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ir/graph/module.h"
#include "ir/oracle/oracle.h"
#include "ir/support/result.h"

namespace weft {

// A .weft or .weftb file (told apart by content, but what is called .weftb must be binary), or a
// preset's name. A file hides the preset that has its name, a folder does not.
Result<Module> load_model(const std::string& model);

// By the path's ending: .weftb is binary, .weftx and .onnx are refused, anything else is text. "-"
// is standard output, as text.
Status save_model(const Module& module, const std::string& path);

// The file with a model's weights: `given`, or the one that the module names, which is relative to
// the model's file; empty if there is neither.
std::string weights_file(const Module& module, const std::string& model, const std::string& given);

struct StorageOptions {
  std::string model;    // as given to load_model: `weights` in the module is relative to it
  std::string weights;  // a safetensors file; empty = the module's own, if it names one
  uint64_t seed = 1;
  DimBinding dims;
};

// Values for all storage that the graph reads or updates (all of the module's, if null): from the
// weights file where there is one (every parameter must then be in it, with its type), else the
// initial values.
Result<TensorMap> load_storage(const Module& module, const Graph* graph,
                               const StorageOptions& options);

}  // namespace weft
