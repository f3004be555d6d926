// SPDX-License-Identifier: Apache-2.0
#include "driver/train/device.h"

#include <cstring>

#include "driver/compile.h"

namespace weft::train {

double real_at(const HostTensor& tensor, size_t at) {
  if (tensor.dtype == DType::f64) {
    double value = 0;
    std::memcpy(&value, tensor.bytes.data() + at * sizeof(value), sizeof(value));
    return value;
  }
  float value = 0;
  std::memcpy(&value, tensor.bytes.data() + at * sizeof(value), sizeof(value));
  return value;
}

Result<Module> differentiate_for(Module module, const TrainRequest& train) {
  PipelineOptions pipeline;
  pipeline.pass.train = train;
  pipeline.stop_after = "autodiff";
  WEFT_TRY(std::vector<PassRecord> passes, run_pipeline(module, pipeline));
  return module;
}

Result<std::unique_ptr<TrainDevice>> open_device(const Module& module,
                                                 const DeviceOptions& options) {
  if (options.device == "oracle") return open_oracle(module, options);
  if (options.device == "cpu") {
    return has_code_generator() ? open_compiled(module, options) : open_oracle(module, options);
  }
  if (is_vulkan(options.device)) return open_compiled(module, options);
  return error({}, "weft train does not know device '", options.device, "' yet")
      .hint("--device cpu");
}

}  // namespace weft::train
