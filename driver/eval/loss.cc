// SPDX-License-Identifier: Apache-2.0
#include "driver/eval/loss.h"

#include <cstring>

namespace weft::eval {
namespace {

int32_t label_at(const train::HostTensor& tensor, size_t at) {
  int32_t value = 0;
  std::memcpy(&value, tensor.bytes.data() + at * sizeof(value), sizeof(value));
  return value;
}

int64_t count_right(const train::HostTensor& logits, const train::HostTensor& labels) {
  const auto rows = static_cast<size_t>(logits.shape[0]);  // [B, classes]
  const auto classes = static_cast<size_t>(logits.shape[1]);
  int64_t right = 0;
  for (size_t row = 0; row < rows; ++row) {
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c) {
      const double value = train::real_at(logits, row * classes + c);
      if (value > train::real_at(logits, row * classes + best)) best = c;
    }
    right += label_at(labels, row) == static_cast<int32_t>(best) ? 1 : 0;
  }
  return right;
}

}  // namespace

Result<Evaluation> evaluate(const Module& module, train::TrainDevice& device,
                            data::BatchStream& stream, const train::HostTensors& numbers) {
  double sum = 0;
  int64_t right = 0;
  Evaluation result;
  train::HostTensors outputs;
  const bool classifies = module.find_graph("forward") != nullptr;
  for (;;) {
    WEFT_TRY(const data::Batch* batch, stream.next());
    if (batch == nullptr) break;
    WEFT_TRY_STATUS(device.run("evaluate", batch->inputs, numbers, batch->dims, outputs));
    const double loss = train::real_at(outputs.at("val_loss"), 0);
    sum += loss * static_cast<double>(batch->target_tokens);
    result.labels += batch->target_tokens;
    if (!classifies) continue;
    WEFT_TRY_STATUS(device.run("forward", batch->inputs, numbers, batch->dims, outputs));
    right += count_right(outputs.at("logits"), batch->inputs.at("labels"));
  }
  if (result.labels == 0) return error({}, "the data has no labels");
  result.loss = sum / static_cast<double>(result.labels);
  if (classifies) {
    result.accuracy = static_cast<double>(right) / static_cast<double>(result.labels);
  }
  return result;
}

}  // namespace weft::eval
