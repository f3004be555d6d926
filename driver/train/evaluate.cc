// The part of the trainer that looks at the model between steps: validation, layers.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/train/trainer.h"
#include "passes/train_step.h"

namespace weft::train {
namespace {

int32_t label_at(const HostTensor& tensor, size_t at) {
  int32_t value = 0;
  std::memcpy(&value, tensor.bytes.data() + at * sizeof(value), sizeof(value));
  return value;
}

}  // namespace

Result<Evaluation> Trainer::evaluate() {
  double sum = 0;
  int64_t labels = 0;
  int64_t right = 0;
  const bool classifies = module_.find_graph("forward") != nullptr;
  for (;;) {
    WEFT_TRY(const data::Batch* batch, valid_.next());
    if (batch == nullptr) break;
    WEFT_TRY_STATUS(device_.run("evaluate", batch->inputs, numbers_, batch->dims, outputs_));
    sum += real_at(outputs_.at("val_loss"), 0) * static_cast<double>(batch->target_tokens);
    labels += batch->target_tokens;
    if (classifies) WEFT_TRY_STATUS(count_right(*batch, right));
  }
  if (labels == 0) return error({}, "the validation data has no labels");
  Evaluation result;
  result.loss = sum / static_cast<double>(labels);
  if (classifies) result.accuracy = static_cast<double>(right) / static_cast<double>(labels);
  return result;
}

Status Trainer::count_right(const data::Batch& batch, int64_t& right) {
  WEFT_TRY_STATUS(device_.run("forward", batch.inputs, numbers_, batch.dims, outputs_));
  const HostTensor& logits = outputs_.at("logits");  // [B, classes]
  const HostTensor& labels = batch.inputs.at("labels");
  const auto rows = static_cast<size_t>(logits.shape[0]);
  const auto classes = static_cast<size_t>(logits.shape[1]);
  for (size_t row = 0; row < rows; ++row) {
    size_t best = 0;
    for (size_t c = 1; c < classes; ++c) {
      if (real_at(logits, row * classes + c) > real_at(logits, row * classes + best)) best = c;
    }
    right += label_at(labels, row) == static_cast<int32_t>(best) ? 1 : 0;
  }
  return ok();
}

Status Trainer::evaluate_into(nlohmann::ordered_json& line) {
  WEFT_TRY_STATUS(watch_layers(line));
  if (observer_ != nullptr) {
    auto tell = [this](const std::string& text) { return warn(text); };
    WEFT_TRY_STATUS(observe_into(*observer_, device_, line, tell));
  }
  WEFT_TRY(Evaluation found, evaluate());
  if (std::isfinite(found.loss)) {
    line["val_loss"] = found.loss;
    if (options_.model.loss == Loss::cross_entropy) line["val_ppl"] = std::exp(found.loss);
  } else {
    WEFT_TRY_STATUS(warn("the validation loss is not finite"));
  }
  if (found.accuracy >= 0) line["val_accuracy"] = found.accuracy;
  const double score = found.accuracy >= 0 ? 1 - found.accuracy : found.loss;
  progress_.worse = score < progress_.best ? 0 : progress_.worse + 1;
  // Of equals, the one that was trained longer: accuracies on few examples are often equal.
  if (!std::isfinite(score) || score > progress_.best) return ok();
  progress_.best = score;
  progress_.best_step = progress_.step;
  return save_parameters(folder_.best_path(), module_.storage, device_, progress_);
}

Status Trainer::watch_layers(nlohmann::ordered_json& line) {
  if (module_.find_graph(kGradNorms) == nullptr || batch_ == nullptr) return ok();
  WEFT_TRY_STATUS(device_.run(kGradNorms, batch_->inputs, numbers_, batch_->dims, outputs_));
  const HostTensor& norms = outputs_.at("norms");
  nlohmann::ordered_json by_norm = nlohmann::ordered_json::object();
  nlohmann::ordered_json by_ratio = nlohmann::ordered_json::object();
  for (size_t i = 0; i < ratios_.layers().size(); ++i) {
    const std::string& layer = ratios_.layers()[i].name;
    const double norm = real_at(norms, i);
    if (std::isfinite(norm)) by_norm[layer] = norm;
    if (i < last_ratios_.size() && std::isfinite(last_ratios_[i]))
      by_ratio[layer] = last_ratios_[i];
    if (norm == 0) WEFT_TRY_STATUS(warn(layer + " is dead: its gradient is zero"));
  }
  line["grad_norms"] = std::move(by_norm);
  line["update_ratios"] = std::move(by_ratio);
  return ok();
}

}  // namespace weft::train
