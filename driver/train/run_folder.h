// The folder of a run: config.json, what the data needs, metrics.jsonl, checkpoints.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "driver/train/options.h"
#include "ir/support/descriptor.h"

namespace weft::train {

struct SavedCheckpoint {
  int64_t step = 0;
  std::string path;
};

class RunFolder {
 public:
  // A new one, which must not be there yet, or be empty.
  static Result<RunFolder> create(const std::string& path);
  // One that is there: fails, and says so, if it is not a run's.
  static Result<RunFolder> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string best_path() const { return path_ + "/best.safetensors"; }
  std::string average_path() const { return path_ + "/average.safetensors"; }
  std::string result_path() const { return path_ + "/result.json"; }  // there once it is finished
  std::string checkpoint_folder() const { return path_ + "/checkpoints"; }
  std::string checkpoint_path(int64_t step) const;

  // For a process that trains: fails if another one does, and removes what one that was killed left
  // half-written. Holds as long as this.
  Status lock();

  Status write_config(const TrainOptions& options) const;
  Result<TrainOptions> read_config() const;

  Status make_checkpoint_folder() const;  // unless it is there
  // In order of their steps.
  Result<std::vector<SavedCheckpoint>> checkpoints() const;
  // Removes all but the last ones.
  Status keep_last(int64_t count) const;

  // Appends to metrics.jsonl, with one write.
  Status append_metrics(const nlohmann::ordered_json& line);
  // Removes what was appended after a step, and a line that was cut short.
  Status cut_metrics(int64_t last_step);

  // A run that came to nothing before its first step leaves nothing behind.
  void remove_all() const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<Descriptor> lock_;
  std::optional<Descriptor> metrics_;  // open for appending
};

// Which weights stand for a run: the average if one was asked for, else the best by validation,
// else the last checkpoint. Fails if there are none yet.
Result<std::string> weights_of_run(const std::string& folder);

}  // namespace weft::train
