// SPDX-License-Identifier: Apache-2.0
#include "driver/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "driver/train/diagnose.h"
#include "ir/support/file.h"
#include "passes/train_step.h"

namespace weft::train {
namespace {

constexpr int64_t kMostNotFinite = 10;  // in a row

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
void put(HostTensor& tensor, size_t at, T value) {
  std::memcpy(tensor.bytes.data() + at * sizeof(T), &value, sizeof(T));
}

HostTensor scalar() { return {DType::f32, {}, std::vector<std::byte>(4)}; }

int64_t tokens_of(const data::Batch& batch, data::TaskKind kind) {
  switch (kind) {
    case data::TaskKind::text_classification: return batch.source_tokens;
    case data::TaskKind::image_classification: return batch.examples;
    default: return batch.target_tokens;
  }
}

}  // namespace

Trainer::Trainer(const TrainOptions& options, const Module& module, TrainDevice& device,
                 data::BatchStream& train, data::BatchStream& valid, RunFolder& folder,
                 TrainHooks hooks)
    : options_(options),
      module_(module),
      device_(device),
      train_(train),
      valid_(valid),
      folder_(folder),
      hooks_(std::move(hooks)),
      ratios_(layers_of(module.storage), module.storage) {
  for (const char* name : {"lr", "weight", "scale"}) numbers_.emplace(name, scalar());
  numbers_.emplace("rng", HostTensor{DType::u32, {2}, std::vector<std::byte>(8)});
}

Status Trainer::resume() {
  WEFT_TRY(std::vector<SavedCheckpoint> saved, folder_.checkpoints());
  if (!saved.empty()) {
    WEFT_TRY(progress_, load_checkpoint(saved.back().path, module_.storage, device_));
    WEFT_TRY_STATUS(train_.seek(progress_.position));
    saved_step_ = progress_.step;
  }
  return folder_.cut_metrics(progress_.step);
}

bool Trainer::done() const {
  const bool out_of_patience = options_.patience > 0 && progress_.worse >= options_.patience;
  return progress_.step >= options_.steps || out_of_patience;
}

Result<Ending> Trainer::run() {
  while (!done() && !stopped()) {
    const auto start = Clock::now();
    const int64_t next = progress_.step + 1;
    const bool watched = next % options_.eval_every == 0 || next == options_.steps;
    if (watched) WEFT_TRY_STATUS(ratios_.before(device_));
    WEFT_TRY(StepReport report, step(next));
    seconds_ += seconds_since(start);
    ++steps_;
    if (watched) {
      WEFT_TRY(last_ratios_, ratios_.after(device_));
    }
    WEFT_TRY_STATUS(after_step(report));
    if (progress_.step % options_.save_every == 0) WEFT_TRY_STATUS(save());
  }
  WEFT_TRY_STATUS(save());
  if (!done()) return Ending::interrupted;
  WEFT_TRY_STATUS(finish());
  return Ending::finished;
}

Result<const data::Batch*> Trainer::next_batch() {
  const auto start = Clock::now();
  WEFT_TRY(const data::Batch* batch, train_.next());
  if (batch == nullptr) {  // the end of an epoch
    WEFT_TRY(batch, train_.next());
  }
  wait_seconds_ += seconds_since(start);
  if (batch == nullptr) return error({}, "the training data has no batch");
  tokens_ += tokens_of(*batch, options_.task.kind);
  return batch;
}

void Trainer::set_numbers(int64_t step, int64_t part, double weight, double scale) {
  put(numbers_.at("lr"), 0, static_cast<float>(learning_rate(options_.rates(), step)));
  put(numbers_.at("weight"), 0, static_cast<float>(weight));
  put(numbers_.at("scale"), 0, static_cast<float>(scale));
  const uint64_t seed = options_.seed;
  put(numbers_.at("rng"), 0, static_cast<uint32_t>(seed ^ (seed >> 32)));
  put(numbers_.at("rng"), 1, static_cast<uint32_t>(step * options_.accumulate + part));
}

Result<StepReport> Trainer::step(int64_t number_of_step) {
  double weighted = 0;  // sum of losses, each times its labels
  double labels = 0;
  for (int64_t part = 0; part < options_.accumulate; ++part) {
    WEFT_TRY(batch_, next_batch());
    const auto weight = static_cast<double>(std::max<int64_t>(batch_->target_tokens, 1));
    labels += weight;
    set_numbers(number_of_step, part, weight, 1 / labels);
    const bool last = part + 1 == options_.accumulate;
    WEFT_TRY_STATUS(device_.run(last ? kTrainStep : kAccumulate, batch_->inputs, numbers_,
                                batch_->dims, outputs_));
    weighted += weight * real_at(outputs_.at("loss"), 0);
  }
  StepReport report;
  report.step = number_of_step;
  report.lr = learning_rate(options_.rates(), number_of_step);
  report.loss = weighted / labels;
  report.grad_norm = real_at(outputs_.at("grad_norm"), 0);
  report.finite = std::isfinite(report.loss) && std::isfinite(report.grad_norm);
  progress_.step = number_of_step;
  progress_.position = train_.position();
  return report;
}

void Trainer::measure_speed(StepReport& report) {
  if (seconds_ <= 0) return;
  report.tokens_per_s = static_cast<double>(tokens_) / seconds_;
  step_seconds_ = seconds_ / static_cast<double>(steps_);
  report.seconds_left = step_seconds_ * static_cast<double>(options_.steps - report.step);
}

Status Trainer::after_step(StepReport& report) {
  measure_speed(report);
  if (report.finite) {
    not_finite_in_a_row_ = 0;
    last_loss_ = report.loss;
    WEFT_TRY_STATUS(watch_jump(report));
  } else {
    WEFT_TRY_STATUS(handle_not_finite(report));
  }
  if (hooks_.on_step) hooks_.on_step(report);
  const bool last = report.step == options_.steps;
  const bool evaluated = last || report.step % options_.eval_every == 0;
  if (!evaluated && report.step != 1 && report.step % options_.log_every != 0) return ok();
  nlohmann::ordered_json line = {{"step", report.step}, {"epoch", progress_.position.epoch}};
  if (report.finite) {
    line["loss"] = report.loss;
    if (options_.model.loss == Loss::cross_entropy) line["ppl"] = std::exp(report.loss);
    line["grad_norm"] = report.grad_norm;
  }
  line["lr"] = report.lr;
  line["tokens_per_s"] = std::round(report.tokens_per_s);
  line["step_ms"] = 1e3 * step_seconds_;
  line["data_wait_ms"] = steps_ > 0 ? 1e3 * wait_seconds_ / static_cast<double>(steps_) : 0;
  if (evaluated) WEFT_TRY_STATUS(evaluate_into(line));
  WEFT_TRY_STATUS(folder_.append_metrics(line));
  if (hooks_.on_line) hooks_.on_line(line);
  seconds_ = wait_seconds_ = 0;
  tokens_ = steps_ = 0;
  return ok();
}

Status Trainer::warn(const std::string& text) {
  if (hooks_.on_warning) hooks_.on_warning(cat("step ", progress_.step, ": ", text));
  return folder_.append_metrics({{"step", progress_.step}, {"warning", text}});
}

Status Trainer::watch_jump(const StepReport& report) {
  const double usual = jumps_.usual();
  if (!jumps_.is_jump(report.grad_norm)) return ok();
  return warn(cat("the gradient norm is ", report.grad_norm, ", over ten times the usual ", usual));
}

Status Trainer::handle_not_finite(const StepReport& report) {
  ++progress_.skipped;
  ++not_finite_in_a_row_;
  const bool loss = !std::isfinite(report.loss);
  std::string text = cat(loss ? "the loss is " : "the gradient norm is ",
                         loss ? report.loss : report.grad_norm, "; the step is skipped");
  if (!diagnosed_) {
    diagnosed_ = true;
    Result<std::string> cause =
        first_not_finite(module_, kTrainStep, batch_->inputs, numbers_, batch_->dims, device_);
    text += cause.ok() ? "; first op that is not finite: " + *cause
                       : "; its cause was not found: " + cause.diagnostics()[0].message;
  }
  WEFT_TRY_STATUS(warn(text));
  if (!options_.stop_if_not_finite && not_finite_in_a_row_ < kMostNotFinite) return ok();
  WEFT_TRY_STATUS(save());
  Error failure = error({}, "step ", report.step, ": ", text);
  return std::move(failure).hint("lower --lr, or clip the gradients: --clip 1");
}

Status Trainer::save() {
  if (saved_step_ == progress_.step || progress_.step == 0) return ok();
  WEFT_TRY_STATUS(folder_.make_checkpoint_folder());
  WEFT_TRY_STATUS(save_checkpoint(folder_.checkpoint_path(progress_.step), module_.storage, device_,
                                  progress_));
  saved_step_ = progress_.step;
  return folder_.keep_last(options_.keep_last);
}

Status Trainer::finish() {
  nlohmann::ordered_json result = {{"step", progress_.step},
                                   {"stopped_early", progress_.step < options_.steps},
                                   {"skipped_steps", progress_.skipped},
                                   {"best_step", progress_.best_step}};
  const bool by_accuracy = module_.find_graph("forward") != nullptr;  // as in Progress
  if (std::isfinite(progress_.best)) {
    result[by_accuracy ? "best_val_accuracy" : "best_val_loss"] =
        by_accuracy ? 1 - progress_.best : progress_.best;
  }
  if (options_.average > 0) {
    WEFT_TRY(std::vector<SavedCheckpoint> saved, folder_.checkpoints());
    std::vector<std::string> paths;
    const size_t first =
        saved.size() - std::min(saved.size(), static_cast<size_t>(options_.average));
    for (size_t i = first; i < saved.size(); ++i) paths.push_back(saved[i].path);
    WEFT_TRY_STATUS(average_checkpoints(paths, module_.storage, folder_.average_path()));
    WEFT_TRY_STATUS(load_parameters(folder_.average_path(), module_.storage, device_));
    WEFT_TRY(eval::Evaluation average, evaluate());
    result["averaged_checkpoints"] = paths.size();
    result["average_val_loss"] = average.loss;
    if (average.accuracy >= 0) result["average_val_accuracy"] = average.accuracy;
  }
  return write_file(folder_.result_path(), result.dump() + "\n");
}

}  // namespace weft::train
