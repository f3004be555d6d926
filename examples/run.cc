// Loads a compiled model and runs it at B = 4 on inputs of ones: run MODEL.weftx
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "runtime/context.h"
#include "runtime/executable_file.h"

weft::Status run(const std::string& path) {
  WEFT_TRY(weft::LoadedPtr executable, weft::load_executable(path));
  WEFT_TRY(weft::Context context, weft::Context::create(executable));
  WEFT_TRY(weft::BoundPtr bound, context.bind("", {{"B", 4}}));
  std::vector<std::vector<float>> memory;
  std::vector<weft::ConstBytes> inputs;
  std::vector<weft::MutableBytes> outputs;
  auto tensor = [&](const weft::BoundTensor& slot, float value) {
    return memory.emplace_back(static_cast<size_t>(slot.bytes) / sizeof(float), value).data();
  };
  for (const auto& slot : bound->inputs) {
    inputs.push_back({tensor(slot, 1), static_cast<size_t>(slot.bytes)});
  }
  for (const auto& slot : bound->outputs) {
    outputs.push_back({tensor(slot, 0), static_cast<size_t>(slot.bytes)});
  }
  WEFT_TRY_STATUS(context.run(bound, inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << bound->outputs[i].name << " begins with "
              << *static_cast<const float*>(outputs[i].data) << "\n";
  }
  return weft::ok();
}

int main(int argc, char** argv) {
  weft::Status status = run(argc > 1 ? argv[1] : "model.weftx");
  if (!status.ok()) std::cerr << render(status.diagnostics());
  return status.ok() ? 0 : 1;
}
