// What a run sees inside its model: norms of layers, attention, layers that are dead.
// SPDX-License-Identifier: Apache-2.0
#include "driver/train/observe.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/scratch.h"
#include "tests/train/toy.h"

namespace weft::train {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ObserveTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("WEFT_CACHE_DIR", shared_cache().c_str(), 1); }
  void TearDown() override { ::setenv("WEFT_CACHE_DIR", "", 1); }

  static std::string fresh_path(const std::string& name) {
    const std::string path = scratch("observe_" + name);
    std::filesystem::remove_all(path);
    return path;
  }
  static void fill(ToyRun& run, const std::string& name, float value) {
    const size_t size = run.device->storage(name)->size();
    std::vector<float> numbers(size / sizeof(float), value);
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), numbers.data(), size);
    ASSERT_TRUE(run.device->set_storage(name, bytes).ok());
  }
  // Two steps that change next to nothing, and an evaluation.
  static TrainOptions still() {
    TrainOptions options = toy_options();
    options.steps = options.eval_every = 2;
    options.lr = 1e-30;
    options.min_lr = 0;
    return options;
  }
};

TEST_F(ObserveTest, LinesOfMetricsHaveNormsAndAttention) {
  ToyRun run(still(), fresh_path("lines"), true);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  const auto line = nlohmann::json::parse(run.lines.back());
  for (const char* layer : {"layers.0.attn", "layers.0.ffn", "layers.norm"}) {
    EXPECT_GT(line["input_norms"][layer].get<double>(), 0) << layer;
    EXPECT_GT(line["output_norms"][layer].get<double>(), 0) << layer;
  }
  // What leaves one layer enters the next.
  EXPECT_EQ(line["output_norms"]["layers.0.attn"], line["input_norms"]["layers.0.ffn"]);
  EXPECT_FALSE(line["input_norms"].contains("embedding"));
  const auto& attention = line["attention"]["layers.0.attn"];
  for (const char* statistic : {"entropy", "distance", "diversity"}) {
    ASSERT_EQ(attention[statistic].size(), 2u) << statistic;
    EXPECT_GT(attention[statistic][0].get<double>(), 0) << statistic;
  }
  EXPECT_LT(attention["entropy"][0].get<double>(), std::log(8));
  EXPECT_TRUE(run.warnings.empty());
}

TEST_F(ObserveTest, EqualKeysAreLookedAtAlike) {
  ToyRun run(still(), fresh_path("uniform"), true);
  fill(run, "layers.0.attn.q.weight", 0);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  const auto attention = nlohmann::json::parse(run.lines.back())["attention"]["layers.0.attn"];
  double entropy = 0;  // row i of 8 sees i + 1 keys
  double distance = 0;
  for (int i = 1; i <= 8; ++i) {
    entropy += std::log(i) / 8;
    distance += (i - 1) / 2.0 / 8;
  }
  for (size_t head : {0, 1}) {
    EXPECT_NEAR(attention["entropy"][head].get<double>(), entropy, 1e-5);
    EXPECT_NEAR(attention["distance"][head].get<double>(), distance, 1e-5);
    EXPECT_NEAR(attention["diversity"][head].get<double>(), 0, 1e-5);
  }
}

TEST_F(ObserveTest, WarnsOfALayerThatGrowsTenfold) {
  ToyRun run(still(), fresh_path("grows"), true);
  fill(run, "layers.0.attn.v.weight", 1);
  Trainer quiet = run.trainer();
  ASSERT_TRUE(quiet.run().ok());
  EXPECT_THAT(run.warnings, Not(Contains(HasSubstr("over ten times its input's"))));
  ToyRun large(still(), fresh_path("grows_much"), true);
  fill(large, "layers.0.ffn.norm.gain", 1e3F);
  Trainer trainer = large.trainer();
  ASSERT_TRUE(trainer.run().ok());
  EXPECT_THAT(large.warnings, Contains(HasSubstr("the output of layers.0.ffn has norm ")));
  EXPECT_THAT(large.warnings, Not(Contains(HasSubstr("the output of layers.0.attn"))));
}

TEST_F(ObserveTest, WarnsOfALayerWithoutGradient) {
  ToyRun run(still(), fresh_path("dead"), true);
  fill(run, "layers.0.ffn.up.weight", 0);    // nothing comes in
  fill(run, "layers.0.ffn.down.weight", 0);  // and nothing comes back
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  EXPECT_THAT(run.warnings, Contains(HasSubstr("layers.0.ffn is dead: its gradient is zero")));
  EXPECT_THAT(run.warnings, Not(Contains(HasSubstr("layers.0.attn is dead"))));
}

TEST_F(ObserveTest, WarnsOfALayerWithoutOutput) {
  TrainOptions options = still();
  options.model.residual = false;
  ToyRun run(options, fresh_path("zero"), true);
  fill(run, "layers.0.ffn.down.weight", 0);
  Trainer trainer = run.trainer();
  ASSERT_TRUE(trainer.run().ok());
  EXPECT_THAT(run.warnings, Contains(HasSubstr("layers.0.ffn is dead: its output is zero")));
}

TEST(ObservedBatch, IsCutInBothAxes) {
  data::Batch batch;
  batch.dims = {{"B", 3}, {"T", 4}};
  batch.examples = 3;
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  data::BatchInput tokens{DType::i32, {3, 4}, std::vector<std::byte>(48)};
  std::memcpy(tokens.bytes.data(), ids.data(), 48);
  batch.inputs.emplace("tokens", tokens);
  batch.inputs.emplace("labels", data::BatchInput{DType::i32, {3}, std::vector<std::byte>(12)});
  const data::Batch part = cut(batch, 2, 3);
  EXPECT_EQ(part.dims, (DimBinding{{"B", 2}, {"T", 3}}));
  EXPECT_EQ(part.inputs.at("labels").bytes.size(), 8u);
  const data::BatchInput& left = part.inputs.at("tokens");
  EXPECT_EQ(left.shape, (std::vector<int64_t>{2, 3}));
  std::vector<int32_t> kept(6);
  ASSERT_EQ(left.bytes.size(), 24u);
  std::memcpy(kept.data(), left.bytes.data(), 24);
  EXPECT_EQ(kept, (std::vector<int32_t>{1, 2, 3, 5, 6, 7}));
}

}  // namespace
}  // namespace weft::train
