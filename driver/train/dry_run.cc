// SPDX-License-Identifier: Apache-2.0
#include "driver/train/dry_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "passes/train_step.h"

namespace weft::train {
namespace {

constexpr int64_t kLookedAt = 100;  // batches
constexpr int64_t kTimed = 3;       // steps, after one that is not

}  // namespace

Result<Estimate> estimate(const TrainOptions& options, const Module& module, TrainDevice& device,
                          data::BatchStream& train, Trainer& trainer) {
  Estimate result;
  for (const Storage& item : module.storage) {
    if (item.kind == Storage::param) {
      result.parameters += element_count(item.type.shape).constant();
    }
  }
  for (; result.batches < kLookedAt; ++result.batches) {
    WEFT_TRY(const data::Batch* batch, train.next());
    if (batch == nullptr) break;
    WEFT_TRY(int64_t bytes, device.arena_bytes(kTrainStep, batch->dims));
    result.arena_bytes = std::max(result.arena_bytes, bytes);
  }
  WEFT_TRY_STATUS(train.seek({0, 0}));
  WEFT_TRY_STATUS(trainer.step(1));
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < kTimed; ++i) {
    WEFT_TRY_STATUS(trainer.step(2 + i));
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  result.step_seconds = passed.count() / kTimed;
  result.seconds = result.step_seconds * static_cast<double>(options.steps);
  result.storage_bytes = device.memory().storage;
  return result;
}

std::string readable_bytes(int64_t bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string readable_time(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60) return cat(whole, " s");
  if (whole < 3600) return cat(whole / 60, " min ", whole % 60, " s");
  return cat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

}  // namespace weft::train
