// A module on the Vulkan device that all tests share, with numbers that a test gives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "driver/compile.h"
#include "driver/execute.h"
#include "tests/vulkan/shared_device.h"

namespace weft {

inline Result<OracleResult> run_on_vulkan(const Module& module, const std::string& name,
                                          const TensorMap& inputs, simt::Mapping mapping) {
  CompileRequest request;
  request.form.mapping = mapping;
  request.device = "vulkan";
  WEFT_TRY(Compiled compiled, compile(module, request));
  const Graph& graph = *module.find_graph(name);
  WEFT_TRY(DimBinding dims, bind_dims(module, graph, inputs, {}, {}));
  ContextOptions options;
  options.vulkan = shared_vulkan_device();
  options.poison = true;
  WEFT_TRY(Executor executor, Executor::create(std::move(compiled.executable), options));
  return run_once(executor, graph, inputs, {}, dims);
}

}  // namespace weft
