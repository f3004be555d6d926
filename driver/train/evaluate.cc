// The part of the trainer that looks at the model between steps: validation, layers.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "driver/train/trainer.h"
#include "passes/train_step.h"

namespace weft::train {

Result<eval::Evaluation> Trainer::evaluate() {
  return eval::evaluate(module_, device_, valid_, numbers_);
}

Status Trainer::evaluate_into(nlohmann::ordered_json& line) {
  WEFT_TRY_STATUS(watch_layers(line));
  if (observer_ != nullptr) {
    auto tell = [this](const std::string& text) { return warn(text); };
    WEFT_TRY_STATUS(observe_into(*observer_, device_, line, tell));
  }
  WEFT_TRY(eval::Evaluation found, evaluate());
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
