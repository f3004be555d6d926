// The flags of `weft train`, and what they change about a preset's recipe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "driver/train/options.h"
#include "tools/cli.h"

namespace weft::cli {

// What was not given is as the preset has it.
struct TrainFlags {
  std::string model;
  std::string out;
  std::string resume;
  bool dry_run = false;

  data::TaskFiles train;
  data::TaskFiles valid;
  std::string label_column;
  std::string text_column;
  std::string image;  // "8x8"
  std::optional<std::string> tokenizer;
  std::optional<int64_t> vocab;
  std::optional<int64_t> context;
  std::optional<double> word_dropout;
  std::optional<std::string> augment;
  std::optional<int64_t> batch;
  std::optional<int64_t> max_tokens;

  std::optional<int64_t> d_model;
  std::optional<int64_t> layers;
  std::optional<int64_t> heads;
  std::optional<int64_t> d_k;
  std::optional<int64_t> d_ff;
  std::optional<int64_t> patch;
  std::optional<int64_t> patch_overlap;
  std::optional<int64_t> stem_layers;
  std::optional<int64_t> stem_width;
  std::optional<std::string> pool;
  std::optional<double> dropout;
  std::optional<double> attn_dropout;
  std::optional<std::string> norm;
  std::optional<std::string> positions;
  int tied = 0;  // 1: --tie-embeddings, -1: --no-tie-embeddings
  int bias = 0;
  bool no_residual = false;
  std::optional<std::string> loss;
  std::optional<double> label_smoothing;
  std::optional<double> focal_gamma;

  std::optional<std::string> optimizer;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> eps;
  std::optional<double> momentum;
  std::optional<double> weight_decay;
  std::optional<double> clip;
  std::optional<int64_t> accumulate;
  std::optional<std::string> schedule;
  std::optional<double> lr;
  std::optional<double> min_lr;
  std::optional<int64_t> warmup;

  std::optional<int64_t> steps;
  std::optional<int64_t> epochs;
  std::optional<int64_t> patience;
  std::optional<int64_t> average;
  std::optional<int64_t> keep_last;
  std::optional<int64_t> eval_every;
  std::optional<int64_t> save_every;
  std::optional<int64_t> log_every;
  bool stop_if_not_finite = false;
};

inline constexpr const char* kModelGroup = "Model";  // of flags that are about a preset

void add_train_flags(CLI::App* command, TrainFlags& flags);

// The preset that fits the data, where none is named.
Result<std::string> default_preset(const TrainFlags& flags);
bool is_module(const TrainFlags& flags);  // the model is a file, not a preset
Result<train::TrainOptions> train_options(const TrainFlags& flags, const Common& common);

}  // namespace weft::cli
