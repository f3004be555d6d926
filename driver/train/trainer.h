// The loop: batches in, steps, evaluations, checkpoints, metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "driver/eval/loss.h"
#include "driver/train/checkpoint.h"
#include "driver/train/observe.h"
#include "driver/train/run_folder.h"
#include "driver/train/watch.h"

namespace weft::train {

// What a step came to.
struct StepReport {
  int64_t step = 0;
  double loss = 0;
  double grad_norm = 0;  // before clipping
  double lr = 0;
  bool finite = true;       // otherwise nothing was changed
  double tokens_per_s = 0;  // since the last line of metrics; examples, for images
  double seconds_left = 0;
};

struct TrainHooks {
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(const nlohmann::ordered_json&)> on_line = {};  // of metrics.jsonl
  std::function<void(const std::string&)> on_warning = {};
  const std::atomic<bool>* stop = nullptr;  // set from outside: finish the step, save, end
};

enum class Ending : uint8_t { finished, interrupted };

class Trainer {
 public:
  // `module` is differentiated (differentiate_for) and what the device was opened with. All must
  // outlive this.
  Trainer(const TrainOptions& options, const Module& module, TrainDevice& device,
          data::BatchStream& train, data::BatchStream& valid, RunFolder& folder, TrainHooks hooks);

  // Looks inside the model at each evaluation. `observer`, which must outlive this, is what
  // add_observe made for the module.
  void set_observer(const Observer& observer) { observer_ = &observer; }

  // Goes to the newest checkpoint of the folder, or to the beginning if there is none; what was
  // written to metrics.jsonl after it goes.
  Status resume();
  // To the end of the run, or until it is stopped from outside.
  Result<Ending> run();
  // One step, without anything around it.
  Result<StepReport> step(int64_t number);
  Result<eval::Evaluation> evaluate();

  const Progress& progress() const { return progress_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool done() const;
  bool stopped() const { return hooks_.stop != nullptr && hooks_.stop->load(); }
  Result<const data::Batch*> next_batch();
  void set_numbers(int64_t step, int64_t part, double weight, double scale);
  Result<double> loss_output() const;
  Status after_step(StepReport& report);
  Status handle_not_finite(const StepReport& report);
  Status watch_jump(const StepReport& report);
  Status evaluate_into(nlohmann::ordered_json& line);
  Status watch_layers(nlohmann::ordered_json& line);
  Status warn(const std::string& text);
  Status save();
  Status finish();
  void measure_speed(StepReport& report);

  const TrainOptions& options_;
  const Module& module_;
  TrainDevice& device_;
  data::BatchStream& train_;
  data::BatchStream& valid_;
  RunFolder& folder_;
  TrainHooks hooks_;
  const Observer* observer_ = nullptr;

  Progress progress_;
  int64_t saved_step_ = -1;
  const data::Batch* batch_ = nullptr;  // of the last step
  HostTensors numbers_;                 // lr, rng, weight, scale
  HostTensors outputs_;
  UpdateRatios ratios_;
  std::vector<double> last_ratios_;
  JumpWatch jumps_;
  int64_t not_finite_in_a_row_ = 0;
  bool diagnosed_ = false;
  double last_loss_ = 0;

  // Since the last line of metrics.
  double seconds_ = 0;
  int64_t tokens_ = 0;
  int64_t steps_ = 0;
  double wait_seconds_ = 0;  // for batches
  double step_seconds_ = 0;  // a mean, to tell the time that is left
};

}  // namespace weft::train
