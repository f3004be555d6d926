// What is seen inside a model on a small batch of validation data: norms of layers, attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "driver/train/device.h"
#include "driver/train/options.h"
#include "passes/observe.h"

namespace weft::train {

// At most so many examples and positions of each are looked at; the rest of a batch is cut off.
inline constexpr int64_t kObservedRows = 8;
inline constexpr int64_t kObservedLength = 64;

struct Observer {
  std::vector<ObservedLayer> layers;
  std::vector<ObservedAttention> attentions;
  data::Batch batch;  // of what is looked at
  bool pads = false;  // kPad in an input is padding; otherwise a token like others
};

// Adds @observe, made of the model's forward pass without dropout, to a module with the same
// parameters. The observer's batch is left to the caller.
Result<Observer> add_observe(Module& module, const TrainOptions& options);

// From the middle of the validation data, where lengths are usual, cut.
Result<data::Batch> batch_to_observe(data::Task& task);
data::Batch cut(const data::Batch& batch, int64_t rows, int64_t length);

// Appends `input_norms`, `output_norms` and `attention` to a line of metrics. Warns of a layer that
// keeps the type of its input but leaves over ten times its norm, and of one that leaves zeros.
Status observe_into(const Observer& observer, TrainDevice& device, nlohmann::ordered_json& line,
                    const std::function<Status(const std::string&)>& warn);

}  // namespace weft::train
