// config.json: what was chosen comes back, also from runs of earlier versions.
// SPDX-License-Identifier: Apache-2.0
#include "driver/train/options.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/zoo.h"

namespace weft::train {
namespace {

TEST(Options, ComeBackAsTheyWere) {
  for (const char* preset : {"transformer-tiny", "gpt-char", "sentiment", "vit-tiny"}) {
    const nlohmann::ordered_json json = to_json(default_options(preset).value());
    Result<TrainOptions> read = parse_options(json);
    ASSERT_TRUE(read.ok()) << render(read.diagnostics());
    EXPECT_EQ(to_json(*read), json) << preset;
  }
}

TEST(Options, APresetIsTrainedAtItsOwnSize) {
  for (const Preset& preset : presets()) {
    Result<TrainOptions> options = default_options(std::string(preset.name));
    if (!options.ok()) continue;
    const TransformerConfig& trained = options->model;
    EXPECT_EQ(trained.d_model, preset.config.d_model) << preset.name;
    EXPECT_EQ(trained.encoder_layers, preset.config.encoder_layers) << preset.name;
    EXPECT_EQ(trained.heads, preset.config.heads) << preset.name;
    EXPECT_EQ(trained.d_ff, preset.config.d_ff) << preset.name;
    EXPECT_EQ(trained.vocab, preset.config.vocab) << preset.name;
  }
}

// Images were square, their patches lay side by side behind a class token, and nothing was changed
// in training.
TEST(Options, OfEarlierVersionsAreRead) {
  nlohmann::json json = to_json(default_options("vit-tiny").value());
  json["model"].erase("image_height");
  json["model"].erase("image_width");
  json["model"]["image_size"] = 12;
  for (const char* field : {"patch_overlap", "stem_layers", "stem_width", "pool"}) {
    json["model"].erase(field);
  }
  json["data"].erase("word_dropout");
  json["data"].erase("augment");
  Result<TrainOptions> read = parse_options(json);
  ASSERT_TRUE(read.ok()) << render(read.diagnostics());
  EXPECT_EQ(read->model.image_height, 12);
  EXPECT_EQ(read->model.image_width, 12);
  EXPECT_EQ(read->model.patch_overlap, 0);
  EXPECT_EQ(read->model.stem_layers, 0);
  EXPECT_EQ(read->model.pool, Pooling::token);
  EXPECT_EQ(read->task.word_dropout, 0);
  EXPECT_FALSE(read->task.augment.any());
}

TEST(Options, WhatIsMissingIsNamed) {
  nlohmann::json json = to_json(default_options("gpt-char").value());
  json["model"].erase("d_model");
  Result<TrainOptions> read = parse_options(json);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(render(read.diagnostics()), ::testing::HasSubstr("'d_model'"));
}

}  // namespace
}  // namespace weft::train
